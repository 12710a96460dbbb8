"""A line of the feed with its members side by side, for readers of all types at once."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ostler.model.event import FeedLine
from ostler.model.usage import Usage


class Said(Struct, frozen=True):
    """The members of all events and notices that are read so; what a type does not have is empty."""

    type: str = ""
    phase: str = ""
    iteration: int = 0
    number: int = 0
    executor: str = ""
    model: str = ""
    session_id: str = ""
    tool: str = ""
    detail: str = ""
    denied: bool = False
    status: str = ""
    verdict: str = ""
    gate: str = ""
    verb: str = ""
    by: str = ""
    to: str = ""
    code: str | None = None
    message: str = ""
    reason: str = ""
    text: str = ""
    note: str = ""
    commit: str | None = None
    pr_url: str | None = None
    resumed: bool = False
    seconds: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    until: float | None = None
    resumes_at: float | None = None

    @property
    def why(self) -> str:
        """The code and the sentence, as far as there are any."""
        return ": ".join(part for part in (self.code, self.message or self.reason) if part)


_decode = msgspec.json.Decoder(Said).decode


def said_in(line: FeedLine) -> Said:
    """What the line says; one that a newer version wrote in a form of its own has an empty type."""
    try:
        return _decode(line.body)
    except msgspec.ValidationError:
        return Said()
