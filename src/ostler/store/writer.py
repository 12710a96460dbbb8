"""Writes to the journal from an event loop: one thread, and one commit for all queued writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from ostler.errors import Code, OstlerError
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.store.fence import Claim, ClaimLost
from ostler.store.journal import Append
from ostler.store.sql_journal import SqlJournal

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class _Write(NamedTuple):
    call: Callable[[SqlJournal], Any]
    done: asyncio.Future[Any]
    durable: bool


class _Result(NamedTuple):
    done: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class GroupWriter:
    """The writing methods of a Journal. Each future is resolved after the commit, in order.

    All writes that are queued during a commit are in the next commit. Cancelling a future does not undo its
    write. One writer serves one event loop.
    """

    def __init__(
        self,
        journal: SqlJournal,
        *,
        rescue: Callable[[], SqlJournal | None] = lambda: None,  # opens a copy of a lost journal
    ) -> None:
        self._journal = journal
        self.store_id = journal.store_id
        self._open_rescue = rescue
        self._closed = False
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._thread = Thread(target=self._write_groups, name="journal", daemon=True)
        self._thread.start()

    def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> asyncio.Future[bool]:
        call = partial(SqlJournal.append, record=record, row=row, notices=notices, claim=claim, then=then)
        return self._submit(call)

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> asyncio.Future[None]:
        """Add notices to the feed; awaiting is optional, as a failure occurs again at the next record."""
        call = partial(SqlJournal.notify, task=task, at=at, notices=notices, claim=claim)
        done = self._submit(call, durable=False)
        done.add_done_callback(_consume_error)
        return done

    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> asyncio.Future[int]:
        return self._submit(partial(SqlJournal.begin_attempt, attempt=attempt, claim=claim))

    def set_session(
        self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None
    ) -> asyncio.Future[bool]:
        """Record the session id; awaiting is optional, as the end of the attempt includes it."""
        call = partial(SqlJournal.set_session, task=task, number=number, session_id=session_id, claim=claim)
        done = self._submit(call, durable=False)
        done.add_done_callback(_consume_error)
        return done

    def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> asyncio.Future[bool]:
        """Record the end of an attempt, durably with the next record or the start of another attempt."""
        call = partial(SqlJournal.end_attempt, attempt=attempt, claim=claim)
        return self._submit(call, durable=False)

    async def flush(self) -> None:
        """Wait until all queued writes are committed."""
        await self._submit(lambda _: None)

    async def close(self) -> None:
        """Commit the queued writes and close the file."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _submit(self, call: Callable[[SqlJournal], _T], *, durable: bool = True) -> asyncio.Future[_T]:
        if self._closed:
            raise RuntimeError("the journal writer is closed")
        done: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Write(call, done, durable))
        return done

    # In the thread

    def _write_groups(self) -> None:
        while group := self._next_group():
            results = self._write(group)
            # A closed event loop has no waiters.
            with suppress(RuntimeError):
                group[0].done.get_loop().call_soon_threadsafe(_resolve, results)
        self._close()

    def _close(self) -> None:
        try:
            self._journal.close()
        except OstlerError as error:  # every write was committed or has its error
            _log.warning("the journal could not be closed: %s", error.message)

    def _next_group(self) -> list[_Write]:
        """Return all queued writes, at least one; empty when the writer is closed and all is written."""
        group: list[_Write] = []
        while not group or not self._queue.empty():
            write = self._queue.get()
            if write is None:
                self._queue.put(None)
                break
            group.append(write)
        return group

    def _write(self, group: list[_Write]) -> list[_Result]:
        try:
            return self._journal.repeat(lambda: self._commit(group))
        except OstlerError as error:  # no write of the group is committed
            if error.code in (Code.JOURNAL_LOST, Code.STATE_CORRUPT):
                self._rescue(group)
            return [_Result(write.done, error=error) for write in group]
        except Exception as error:  # noqa: BLE001  (a bug in one write; the others are written without it)
            if len(group) == 1:
                return [_Result(group[0].done, error=error)]
            return [result for write in group for result in self._write([write])]

    def _commit(self, group: list[_Write]) -> list[_Result]:
        with self._journal.transaction(durable=any(write.durable for write in group)):
            return [_call(write, self._journal) for write in group]

    def _rescue(self, group: list[_Write]) -> None:
        """Write the group to a copy of the lost journal, which `journal rebuild` reads."""
        try:
            rescued = self._open_rescue()
            if rescued is None:
                return
            with rescued, rescued.transaction():
                for write in group:
                    _call(write, rescued)
        except OstlerError as error:
            _log.warning("a record could not be kept in a copy of the journal: %s", error.message)


def _call(write: _Write, journal: SqlJournal) -> _Result:
    """Make one write of a group; a claim that is lost concerns no other write."""
    try:
        return _Result(write.done, write.call(journal))
    except ClaimLost as lost:
        return _Result(write.done, error=lost)


def _resolve(results: list[_Result]) -> None:
    for done, value, error in results:
        if done.done():
            continue
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)


def _consume_error(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()
