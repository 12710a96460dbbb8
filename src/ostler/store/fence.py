"""The fence of a claim: a run whose task another run has claimed, or may have, cannot write to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ostler.model.ids import TaskId

if TYPE_CHECKING:
    # Commands that only read load nothing that runs programs.
    from ostler.process.lease import Lease


class ClaimLost(Exception):
    """Another run has claimed the task, or may have, or the task was removed; nothing was written."""


class _Claims(Struct):
    claims: int = 0


_decode = msgspec.json.Decoder(_Claims).decode


class Claim:
    """The claim of one run on its task; can be used from any thread."""

    def __init__(self, number: int, lease: Lease | None = None) -> None:
        self._number = number  # of the claims of the task; a larger one is that of another run
        self._lease = lease  # None: the lock of the task is enough, as on one machine
        self._is_revoked = False

    def revoke(self) -> None:
        """Refuse all further writes."""
        self._is_revoked = True

    @property
    def is_over(self) -> bool:
        """Whether it ended without a successor that is known: it was revoked, or its lease is over."""
        return self._is_revoked or (self._lease is not None and self._lease.is_over)

    def require(self, task: TaskId, state: bytes | None) -> None:
        """Raise ClaimLost unless the claim holds for a task with this state; None: it was removed.

        After the end of the lease nothing is written, though the task has no later claim yet: its successor
        would read it as the result of a step.
        """
        if self.is_over or state is None or _decode(state).claims > self._number:
            raise ClaimLost(task)
