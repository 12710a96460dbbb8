"""One span, before it is OpenTelemetry's; and the names that spans have for good."""

from __future__ import annotations

import hashlib

from msgspec import Struct
from msgspec.structs import replace

Value = str | int | float | bool
Attributes = dict[str, Value]


class Span(Struct, frozen=True):
    key: str  # its kind and the position of the line that began it: the same whenever the feed is read
    parent: str  # the parent's key; empty: none
    name: str
    start: float
    attributes: Attributes
    end: float = 0.0
    closed: int = 0  # the position of the line that ended it; 0: it is not over
    error: str = ""  # a code; empty: nothing went wrong

    def ended(self, at: float, position: int, error: str = "", more: Attributes | None = None) -> Span:
        """The same, over; never before it began, whatever the clock did."""
        attributes = self.attributes | (more or {})
        return replace(
            self, end=max(self.start, at), closed=position, error=error or self.error, attributes=attributes
        )


def trace_id(store: str, task: str) -> int:
    """A task is one trace, however many runs it takes."""
    return _number(f"{store}/{task}", 16)


def span_id(store: str, task: str, key: str) -> int:
    return _number(f"{store}/{task}/{key}", 8)


def _number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1
