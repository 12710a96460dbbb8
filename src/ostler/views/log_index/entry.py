"""One line of an attempt log, decoded for the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from ostler.views.agent_work.attempt_log import LogEntry

_DECODE = msgspec.json.Decoder(dict[str, Any]).decode
_TEXTS = ("text", "tool", "detail", "message", "code", "session_id")
_DEEPEST = 20


def decode_line(line: bytes) -> LogEntry | None:
    """Return the entry; None for a line that is none."""
    try:
        found = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found.get("type"), str) else None


def visible_texts(entry: LogEntry) -> Iterator[str]:
    """Yield the texts that a transcript shows: those of the entry, then those of a tool's input."""
    for name in _TEXTS:
        if isinstance(text := entry.get(name), str) and text:
            yield text
    yield from _strings(entry.get("input"), _DEEPEST)
    yield from _strings(entry.get("todos"), _DEEPEST)


def _strings(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        parts = (
            cast("dict[str, object]", value).values()
            if isinstance(value, dict)
            else cast("list[object]", value)
        )
        for part in parts:
            yield from _strings(part, depth - 1)
