"""A decoded line of the feed."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.event import FeedEvent, FeedLine, decode_event


class DecodedLine(Struct, frozen=True):
    position: int
    at: float
    task: str
    event: FeedEvent


def decode_line(line: FeedLine) -> DecodedLine:
    return DecodedLine(line.position, line.at, line.task, decode_event(line))
