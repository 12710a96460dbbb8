"""The writes of a run, which are made only while its claim holds."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.store.fence import Claim, ClaimLost
from ostler.store.journal import Append
from ostler.store.run_writer import RunWriter


class ClaimedWriter:
    """A RunWriter for one run of a task; each write has its claim.

    The store checks the claim again in the transaction of the write. What is refused here does not wait for a
    store that does not answer.
    """

    def __init__(self, writer: RunWriter, claim: Claim) -> None:
        self._writer = writer
        self._claim = claim

    @property
    def store_id(self) -> str:
        return self._writer.store_id

    async def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        self._require(record.task)
        return await self._writer.append(record, row, notices, claim=claim or self._claim, then=then)

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> object:
        return self._writer.notify(task, at, notices, claim=claim or self._claim)

    async def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> int:
        self._require(attempt.task)
        return await self._writer.begin_attempt(attempt, claim=claim or self._claim)

    def set_session(
        self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None
    ) -> object:
        return self._writer.set_session(task, number, session_id, claim=claim or self._claim)

    async def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        self._require(attempt.task)
        return await self._writer.end_attempt(attempt, claim=claim or self._claim)

    async def flush(self) -> None:
        await self._writer.flush()

    async def close(self) -> None:
        await self._writer.close()

    def _require(self, task: TaskId) -> None:
        if self._claim.is_over:
            raise ClaimLost(task)
