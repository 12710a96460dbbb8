"""What a run writes to the journal, from its event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.store.fence import Claim
from ostler.store.journal import Append


class RunWriter(Protocol):
    """A GroupWriter, or one around it that does something before each write.

    A write with a claim raises ClaimLost, and writes nothing, when the claim is lost.
    """

    @property
    def store_id(self) -> str: ...

    def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> Awaitable[bool]: ...

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> object:
        """Add notices to the feed; a failure occurs again at the next record."""
        ...

    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> Awaitable[int]: ...

    def set_session(
        self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None
    ) -> object:
        """Record the session id; the end of the attempt includes it."""
        ...

    def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> Awaitable[bool]: ...

    async def flush(self) -> None:
        """Wait until all queued writes are committed."""
        ...

    async def close(self) -> None:
        """Commit the queued writes and end."""
        ...
