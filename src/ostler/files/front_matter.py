"""Markdown that begins with `key: value` lines between two lines of ---."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ostler.files.yaml import Document, YamlInvalid, read_yaml

_FENCE = "---"
# The one mistake that half the world makes, and that lenient readers let pass: `about: a text: with a colon`.
_UNQUOTED = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>{&*!#\[])(\S.*?:(?:[ \t].*)?)$")
_BRACKETS = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\[[^\]]*\][ \t]*[^ \t#].*)$")


class FrontMatter(Struct, frozen=True):
    """The values above a text, and the text."""

    document: Document | None  # none: the text has no front matter
    body: str
    above: int = 0  # lines before the body
    warnings: tuple[str, ...] = ()
    rest: str = ""  # all that is below the front matter, to the letter

    @property
    def values(self) -> dict[str, Any]:
        return self.document.value if self.document else {}


def split_front_matter(text: str, where: str) -> FrontMatter:
    """Both parts; raises YamlInvalid where front matter begins and is not right."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return FrontMatter(None, *_body(lines, 0), rest=text)
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), None)
    if end is None:
        raise YamlInvalid(where, 1, "the front matter that begins here is not closed by a line of ---")
    document, warnings = _read(lines[1:end], where)
    return FrontMatter(document, *_body(lines, end + 1), warnings, "\n".join(lines[end + 1 :]))


def _body(lines: list[str], start: int) -> tuple[str, int]:
    """The text from its first line that is not blank, and how many come before that one."""
    above = next((number for number, line in enumerate(lines[start:], start) if line.strip()), len(lines))
    return "\n".join(lines[above:]).rstrip(), above


def _read(lines: list[str], where: str) -> tuple[Document, tuple[str, ...]]:
    try:
        return _mapping("\n".join(lines), where), ()
    except YamlInvalid:
        mended = [_quote(line) for line in lines]
        changed = [number for number, line in enumerate(lines) if mended[number] != line]
        if not changed:
            raise
    warnings = (f"{where}:{number + 2}: put the value in quotes; it was read as text" for number in changed)
    return _mapping("\n".join(mended), where), tuple(warnings)


def _mapping(text: str, where: str) -> Document:
    document = read_yaml(text, where, above=1)
    if document.value is None:
        return Document({}, where, document.lines)
    if not isinstance(document.value, dict):
        raise YamlInvalid(where, 2, "front matter must be lines of `key: value`")
    return document


def _quote(line: str) -> str:
    found = _UNQUOTED.match(line) or _BRACKETS.match(line)
    if not found:
        return line
    text = found[2].rstrip().replace("'", "''")
    return f"{found[1]}: '{text}'"
