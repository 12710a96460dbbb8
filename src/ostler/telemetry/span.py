"""A span before it is converted to OpenTelemetry, and stable ids of traces and spans."""

from __future__ import annotations

import hashlib

from msgspec import Struct
from msgspec.structs import replace

Value = str | int | float | bool
Attributes = dict[str, Value]


class Span(Struct, frozen=True):
    key: str  # kind and position of the first line, so that it is the same whenever the feed is read
    parent: str  # key of the parent; empty: none
    name: str
    start: float
    attributes: Attributes
    end: float = 0.0
    closed: int = 0  # position of the last line; 0: still open
    error: str = ""  # a code; empty: no error

    def ended(self, at: float, position: int, error: str = "", more: Attributes | None = None) -> Span:
        """Return the ended span; the end is never before the start."""
        attributes = self.attributes | (more or {})
        return replace(
            self, end=max(self.start, at), closed=position, error=error or self.error, attributes=attributes
        )


def trace_id(store: str, task: str) -> int:
    """Return the trace id of a task, which is the same for all its runs."""
    return _number(f"{store}/{task}", 16)


def span_id(store: str, task: str, key: str) -> int:
    return _number(f"{store}/{task}/{key}", 8)


def _number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1
