"""Values as TOML writes them, safe to print on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import cast

_DEEPEST = 6  # no setting nests deeper; a hostile file may
_LARGEST = 2**63  # beyond this an int is no TOML, and str() may refuse it
_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def literal(value: object, depth: int = 0) -> str:
    """A TOML literal; only what TOML itself has no word for (null) is written otherwise."""
    if depth > _DEEPEST:
        return "..."
    match value:
        case list() | tuple():
            items = cast("list[object]", value)
            return "[" + ", ".join(literal(item, depth + 1) for item in items) + "]"
        case Mapping():
            return _inline_table(cast("Mapping[str, object]", value), depth)
        case _:
            return _scalar(value)


def quote(text: str) -> str:
    """A TOML string in which nothing can move a cursor or break a line."""
    return '"' + "".join(_character(letter) for letter in text) + '"'


def shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _inline_table(table: Mapping[str, object], depth: int) -> str:
    entries = [f"{quote(str(key))} = {literal(item, depth + 1)}" for key, item in table.items()]
    return "{" + ", ".join(entries) + "}"


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < _LARGEST else "an int of more than 64 bits"
        case date() | time():
            return value.isoformat()
        case _:
            return repr(value) if isinstance(value, float) else quote(str(value))


def _character(letter: str) -> str:
    if letter in _NAMED:
        return _NAMED[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
