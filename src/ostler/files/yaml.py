"""Read a strict subset of YAML with the line of every value.

Aliases, tags, duplicate keys and deep nesting are refused; `yes`, `on` and dates stay strings.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, cast

import yaml
from msgspec import Struct

from ostler.errors import Code, OstlerError

Path = tuple[str | int, ...]  # keys and indexes from the top: ("steps", 2, "skill")

_MAX_CHARS = 1 << 20  # characters
_MAX_DEPTH = 20
_CONSTANTS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")  # longer numbers stay text: some JSON readers reject them
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE  # refused in plain form, allowed as an escape
_CLEARER_TEXTS = {
    "but found another document": "a second document begins here; expected one",
    "mapping values are not allowed here": "unexpected colon; put the text in quotes",
    "special characters are not allowed": "unprintable character",
}


class YamlInvalid(OstlerError):
    """Text that is not valid in our YAML subset; the message names file and line."""

    def __init__(self, where: str, line: int, what: str) -> None:
        super().__init__(Code.CONFIG_INVALID, f"{where}:{line}: {what}")
        self.where = where
        self.line = line
        self.what = what


class Document(Struct, frozen=True):
    """A parsed text and the line of each part."""

    value: Any
    where: str
    lines: dict[Path, int]

    def error(self, path: Path, what: str) -> YamlInvalid:
        """Return an error at that part, or at its nearest parent."""
        return YamlInvalid(self.where, self._line(path), what)

    def location_of(self, path: Path) -> str:
        """Return file and line of that part."""
        return f"{self.where}:{self._line(path)}"

    def _line(self, path: Path) -> int:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read_yaml(text: str, where: str, lines_before: int = 0) -> Document:
    """Parse a text; raise YamlInvalid. `lines_before` lines precede it in its file."""
    root = compose_yaml(text, where, lines_before)
    lines: dict[Path, int] = {(): lines_before + 1}
    value = None if root is None else _build(root, (), lines_before, lines)
    return Document(value, where, lines)


def compose_yaml(text: str, where: str, lines_before: int = 0) -> yaml.Node | None:
    """Return the text as YAML nodes, or None when it is empty; raise YamlInvalid."""
    if len(text) > _MAX_CHARS:
        raise YamlInvalid(where, lines_before + 1, "the text is larger than 1 MiB")
    reader: Any = yaml  # its stubs leave scan and compose untyped
    try:
        _refuse_unsafe(reader.scan(text, Loader=yaml.SafeLoader))
        root = reader.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise YamlInvalid(where, lines_before + _line(error, text), _problem(error)) from None
    if root is not None:
        _check(root, where, lines_before)
    return root


def _refuse_unsafe(tokens: Any) -> None:
    """Refuse aliases, tags and deep nesting: they can expand without bound or build objects."""
    depth = 0
    for token in tokens:
        if isinstance(token, yaml.AliasToken | yaml.TagToken):
            raise _marked("aliases and tags are not allowed", token)
        name = type(token).__name__
        if name.startswith(("Block", "Flow")):
            depth += name.endswith("StartToken") - name.endswith("EndToken")
        if depth > _MAX_DEPTH:
            raise _marked("nested too deeply", token)


def _check(node: yaml.Node, where: str, above: int) -> None:
    """Refuse duplicate keys, of which YAML silently keeps the last, and unprintable characters."""
    line = above + node.start_mark.line + 1
    match node:
        case yaml.MappingNode():
            seen: set[str] = set()
            for key, value in cast(list[tuple[yaml.Node, yaml.Node]], node.value):
                _check_key(key, seen, where, above + key.start_mark.line + 1)
                _check(value, where, above)
        case yaml.SequenceNode():
            for item in cast(list[yaml.Node], node.value):
                _check(item, where, above)
        case _:
            if _UNPRINTABLE.search(node.value):
                raise YamlInvalid(where, line, "unprintable character")


def _check_key(key: yaml.Node, seen: set[str], where: str, line: int) -> None:
    if not isinstance(key, yaml.ScalarNode) or _UNPRINTABLE.search(key.value):
        raise YamlInvalid(where, line, "a key must be a single text")
    if key.value in seen:
        raise YamlInvalid(where, line, f"{key.value!r:.80} is given twice")
    seen.add(key.value)


def _build(node: yaml.Node, path: Path, above: int, lines: dict[Path, int]) -> object:
    lines[path] = above + node.start_mark.line + 1
    match node:
        case yaml.MappingNode():
            pairs = cast(list[tuple[yaml.ScalarNode, yaml.Node]], node.value)
            built = {key.value: _build(item, (*path, key.value), above, lines) for key, item in pairs}
            lines.update({(*path, key.value): above + key.start_mark.line + 1 for key, _ in pairs})
            return built
        case yaml.SequenceNode():
            items = cast(list[yaml.Node], node.value)
            return [_build(item, (*path, index), above, lines) for index, item in enumerate(items)]
        case _:
            return _scalar(cast(yaml.ScalarNode, node))


def _scalar(node: yaml.ScalarNode) -> object:
    text: str = node.value
    if node.style is not None:  # quoted or block style
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and isfinite(number := float(text)):
        return number
    return text


def _marked(problem: str, token: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=token.start_mark)


def _line(error: yaml.YAMLError, text: str) -> int:
    mark: Any = getattr(error, "problem_mark", None)
    if mark is not None:
        return mark.line + 1
    return text.count("\n", 0, int(getattr(error, "position", 0))) + 1


def _problem(error: yaml.YAMLError) -> str:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    return _CLEARER_TEXTS.get(str(reason)) or " ".join(str(reason).split())
