"""A line of the feed, with the fields that spans and metrics are made of."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ostler.model.event import FeedLine
from ostler.model.usage import Usage


class Said(Struct):
    """Any event or notice; what it does not have is empty, what is not asked here is passed over."""

    type: str
    phase: str = ""
    iteration: int = 0
    number: int = 0
    executor: str = ""
    model: str = ""
    session_id: str = ""
    status: str = ""
    verdict: str = ""
    code: str | None = None
    tool: str = ""
    denied: bool = False
    usage: Usage = Usage()
    cost_usd: float | None = None
    until: float | None = None
    resumes_at: float | None = None


class Line(Struct, frozen=True):
    position: int
    at: float
    task: str
    said: Said


_read = msgspec.json.Decoder(Said).decode


def read_line(line: FeedLine) -> Line:
    """The line; what a newer version wrote, and cannot be read, has an empty type."""
    try:
        said = _read(line.body)
    except msgspec.ValidationError:
        said = Said("")
    return Line(line.position, line.at, line.task, said)
