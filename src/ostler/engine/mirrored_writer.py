"""The writer of a run that uploads the files of a task before each record that may refer to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.followed import never
from ostler.blobs.mirror import Mirror
from ostler.blobs.parallel import start_daemon
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Record, TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.store.fence import Claim
from ostler.store.journal import Append
from ostler.store.run_writer import RunWriter
from ostler.waits import REPORT_AFTER_SECONDS, report_wait

_HINT = "check the connection, and [blobs] url and endpoint"


class MirroredWriter:
    """A RunWriter; from its claim on, the files of a task are uploaded before a record is written."""

    def __init__(self, writer: RunWriter, mirror: Mirror) -> None:
        self._writer = writer
        self._mirror = mirror
        self.store_id = writer.store_id

    async def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        if isinstance(record.event, TaskClaimed):
            # Another machine may have run the task since the last run here, whose end was not recorded.
            self._mirror.drop(record.task)
            await self._upload(record.task, claim, is_moved=_is_moved(decode_state(row)))
        elif self._mirror.is_following(record.task):
            await self._upload(record.task, claim)
        try:
            is_written = await self._writer.append(record, row, notices, claim=claim, then=then)
        except BaseException:  # such as ClaimLost
            self._mirror.drop(record.task)
            raise
        last = then[-1] if then else Append(record, row)
        has_left = isinstance(last.record.event, TaskReleased) or last.row.status != TaskStatus.IN_PROGRESS
        if is_written and has_left:
            self._mirror.leave(record.task)
        return is_written

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> object:
        return self._writer.notify(task, at, notices, claim=claim)

    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> Awaitable[int]:
        return self._writer.begin_attempt(attempt, claim=claim)

    def set_session(
        self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None
    ) -> object:
        return self._writer.set_session(task, number, session_id, claim=claim)

    async def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        if self._mirror.is_following(attempt.task):  # else another machine may have the task
            await self._upload(attempt.task, claim)
        return await self._writer.end_attempt(attempt, claim=claim)

    async def flush(self) -> None:
        await self._writer.flush()

    async def close(self) -> None:
        await self._writer.close()
        await asyncio.to_thread(self._mirror.close)

    async def _upload(self, task: TaskId, claim: Claim | None, *, is_moved: bool = False) -> None:
        """Upload the files of the task; a request without an answer delays the record only for a while."""
        if claim is not None and claim.is_over:
            return  # the write is refused
        mirror, loop = self._mirror, asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        is_over = never if claim is None else (lambda: claim.is_over)

        def run() -> None:
            error = None
            try:
                mirror.upload(task, is_over=is_over, is_moved=is_moved)
            except Exception as raised:  # noqa: BLE001  (raised in the event loop)
                error = raised
            with suppress(RuntimeError):  # the event loop was closed meanwhile
                loop.call_soon_threadsafe(_resolve, done, error)

        start_daemon(run)
        await asyncio.wait({done}, timeout=REPORT_AFTER_SECONDS)
        if not done.done():
            report_wait(f"{task}: waiting until its files are uploaded to {mirror.place}")
            await asyncio.wait({done}, timeout=mirror.wait_seconds)
        if done.done():
            done.result()
            return
        late = BlobsUnavailable(f"the blob store {mirror.place} does not answer", _HINT, is_outage=True)
        if is_moved:
            raise late
        mirror.outage.give_up(late)


def _resolve(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _is_moved(state: State) -> bool:
    """Return whether the files of the last step are on another machine."""
    return bool(state.workspace_host) and state.host != state.workspace_host
