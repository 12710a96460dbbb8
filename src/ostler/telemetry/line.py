"""A line of the feed, as spans and metrics are made of it."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.event import FeedLine
from ostler.model.said import Said, said_in


class Line(Struct, frozen=True):
    position: int
    at: float
    task: str
    said: Said


def read_line(line: FeedLine) -> Line:
    return Line(line.position, line.at, line.task, said_in(line))
