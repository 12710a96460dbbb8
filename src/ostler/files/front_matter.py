"""Read Markdown that begins with `key: value` lines between two `---` lines."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ostler.files.yaml import Document, YamlInvalid, read_yaml

_FENCE = "---"
# A common mistake that lenient readers accept: `about: a text: with a colon`.
_UNQUOTED = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>{&*!#\[])(\S.*?:(?:[ \t].*)?)$")
_BRACKETS = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\[[^\]]*\][ \t]*[^ \t#].*)$")


class FrontMatter(Struct, frozen=True):
    """The values of the front matter and the text below it."""

    document: Document | None  # none: the text has no front matter
    body: str
    lines_before: int = 0
    warnings: tuple[str, ...] = ()
    rest: str = ""  # everything below the front matter, unchanged

    @property
    def values(self) -> dict[str, Any]:
        return self.document.value if self.document else {}


def split_front_matter(text: str, where: str) -> FrontMatter:
    """Split a text into front matter and body; raise YamlInvalid for invalid front matter."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return FrontMatter(None, *_body(lines, 0), rest=text)
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), None)
    if end is None:
        raise YamlInvalid(where, 1, "the front matter that begins here is not closed by a line `---`")
    document, warnings = _read(lines[1:end], where)
    return FrontMatter(document, *_body(lines, end + 1), warnings, "\n".join(lines[end + 1 :]))


def _body(lines: list[str], start: int) -> tuple[str, int]:
    """Return the text from its first non-blank line, and the number of lines before it."""
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
    document = read_yaml(text, where, lines_before=1)
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
