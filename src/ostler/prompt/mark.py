"""The agent's word on its phase."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

NO_REASON = "the agent gave no reason"


class Mark(Struct, frozen=True):
    """What the agent says: done, cannot go on, or (only in a structured answer) not yet."""

    kind: Literal["complete", "blocked", "continue"]
    reason: str = ""
    summary: str = ""  # in a structured answer, what the agent would have said otherwise
