"""The journal's writer for an event loop: one thread, and one commit for all that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from ostler.errors import OstlerError
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.store.sqlite import SqliteJournal

_T = TypeVar("_T")

CHECK_UP_TO = 64 << 20  # bytes; a run looks at all pages of such a file when it starts


class _Write(NamedTuple):
    call: Callable[[SqliteJournal], Any]
    done: asyncio.Future[Any]


class _Result(NamedTuple):
    done: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class GroupWriter:
    """The writing half of a Journal. Each method's future is resolved after the commit, in order.

    What waits while a commit runs goes into the next one together. A waiter that is cancelled does not take
    its write back. One writer serves one loop.
    """

    def __init__(self, path: Path, *, create: bool = False, busy_timeout_seconds: float = 5.0) -> None:
        self._journal = SqliteJournal(
            path, create=create, busy_timeout_seconds=busy_timeout_seconds, check_up_to=CHECK_UP_TO
        )
        self.store_id = self._journal.store_id
        self._closed = False
        self._queue: SimpleQueue[_Write | None] = SimpleQueue()
        self._thread = Thread(target=self._write_groups, name="journal", daemon=True)
        self._thread.start()

    def append(self, record: Record, row: TaskRow, notices: Sequence[Notice] = ()) -> asyncio.Future[bool]:
        return self._submit(partial(SqliteJournal.append, record=record, row=row, notices=notices))

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> asyncio.Future[None]:
        """Nobody needs to wait for this; a failure shows itself again at the next record."""
        done = self._submit(partial(SqliteJournal.notify, task=task, at=at, notices=notices))
        done.add_done_callback(_heed)
        return done

    def begin(self, attempt: Attempt) -> asyncio.Future[int]:
        return self._submit(partial(SqliteJournal.begin, attempt=attempt))

    def learn(self, task: TaskId, number: int, session_id: str) -> asyncio.Future[bool]:
        """Nobody needs to wait for this either: the attempt's end is written after it, and knows more."""
        done = self._submit(partial(SqliteJournal.learn, task=task, number=number, session_id=session_id))
        done.add_done_callback(_heed)
        return done

    def end(self, attempt: Attempt) -> asyncio.Future[bool]:
        return self._submit(partial(SqliteJournal.end, attempt=attempt))

    async def flush(self) -> None:
        """Wait until all that was given so far is written."""
        await self._submit(lambda _: None)

    async def close(self) -> None:
        """Write what still waits, and let go of the file."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _submit(self, call: Callable[[SqliteJournal], _T]) -> asyncio.Future[_T]:
        if self._closed:
            raise RuntimeError("the journal's writer is closed")
        done: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Write(call, done))
        return done

    # In the thread

    def _write_groups(self) -> None:
        while group := self._next_group():
            results = self._write(group)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                group[0].done.get_loop().call_soon_threadsafe(_resolve, results)
        self._journal.close()

    def _next_group(self) -> list[_Write]:
        """All that waits, at least one; empty when the writer is closed and all is written."""
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
            with self._journal.transaction():
                return [_Result(write.done, write.call(self._journal)) for write in group]
        except OstlerError as error:  # nothing of the group is kept
            return [_Result(write.done, error=error) for write in group]
        except Exception as error:  # noqa: BLE001  (a bug in one write; its neighbours are written without it)
            if len(group) == 1:
                return [_Result(group[0].done, error=error)]
            return [result for write in group for result in self._write([write])]


def _resolve(results: list[_Result]) -> None:
    for done, value, error in results:
        if done.done():
            continue
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)


def _heed(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()
