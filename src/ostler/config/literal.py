"""Format values as TOML, safe to print on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import cast

_MAX_DEPTH = 6  # no setting nests deeper; a hostile file may
_MAX_INT = 2**63  # larger integers are not valid TOML, and str() may refuse them
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def to_toml(value: object, depth: int = 0) -> str:
    """Return a TOML literal; null, which TOML lacks, is written as `null`."""
    if depth > _MAX_DEPTH:
        return "..."
    match value:
        case list() | tuple():
            items = cast("list[object]", value)
            return "[" + ", ".join(to_toml(item, depth + 1) for item in items) + "]"
        case Mapping():
            return _inline_table(cast("Mapping[str, object]", value), depth)
        case _:
            return _scalar(value)


def quote(text: str) -> str:
    """Return a TOML string without raw control characters."""
    return '"' + "".join(_character(letter) for letter in text) + '"'


def shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _inline_table(table: Mapping[str, object], depth: int) -> str:
    entries = [f"{quote(str(key))} = {to_toml(item, depth + 1)}" for key, item in table.items()]
    return "{" + ", ".join(entries) + "}"


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < _MAX_INT else "an int of more than 64 bits"
        case date() | time():
            return value.isoformat()
        case _:
            return repr(value) if isinstance(value, float) else quote(str(value))


def _character(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
