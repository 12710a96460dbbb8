"""Work that a worker cannot do now."""

from __future__ import annotations

from typing import Literal

Reason = Literal["stopped", "lost", "full", "held", "locked", "newer", "host-failed", "failed"]


class GivenBack(Exception):
    """The work is left to another worker, or to this one after a delay. The reason is one word, without text
    of the task, because it is in the history of the workflow.
    """

    def __init__(self, reason: Reason, delay_seconds: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.delay_seconds = delay_seconds
