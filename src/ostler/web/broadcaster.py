"""Send new lines of the feed to all clients; one task polls the journal for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from ostler.errors import Code, StateError
from ostler.model.ids import TaskId
from ostler.store.sql_journal import SqlJournal
from ostler.web.feed_pages import PAGE, EventFrame, FeedPages, encode_frame

_CALM_SECONDS, _BUSY_SECONDS = 0.1, 0.004  # between two polls
_BUSY_LOOKS = 250  # after the last change
_CLIENT_SECONDS = 0.0005  # more per waiting client: each change wakes all of them
_TURNS = 4  # clients that are given lines in one round of the event loop
_PASSING = (Code.STORE_UNAVAILABLE, Code.STATE_BUSY)  # the store can be read again later

T = TypeVar("T")


class _News(NamedTuple):
    """What one look at a changed journal found."""

    version: int
    start: int  # the position that the lines follow
    frames: list[EventFrame]


class EventBroadcaster:
    """Must be used in the server's event loop only; keeps no state per client.

    The journal is read in a thread: a store on a server may not answer for half a minute.
    """

    def __init__(self, journal: SqlJournal, open_journal: Callable[[], SqlJournal]) -> None:
        self._journal = journal
        self._thread = ThreadPoolExecutor(1, "web-watch")
        self._pages = FeedPages(open_journal)
        self._turns = asyncio.Semaphore(_TURNS)
        self._newest: list[EventFrame] = []  # the last page, shared by all clients that are up to date
        self._seen = 0  # position of its last line
        self._version = -1
        self._unchanged_polls = 0  # since the last change
        self._waiting = 0  # number of clients that wait for a change
        self._watcher: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.change_count = 0
        self.closed = False
        self.streams = 0  # clients

    async def position(self) -> int:
        return await self._call(self._journal.position)

    async def read(self, after: int, task: TaskId | None) -> list[EventFrame]:
        """Return the next page after a position."""
        async with self._turns:
            await asyncio.sleep(0)  # requests of others come first
            if self._newest and self._newest[0].position <= after + 1:
                return [one for one in self._newest if one.position > after and task in (None, one.task)]
        return await self._pages.read(after, task)

    async def wait_for_change(self, mark: int, seconds: float) -> bool:
        """Wait until the feed has changed since `mark`, or the server closes; return False on timeout."""
        if mark != self.change_count or self.closed:
            return True
        self._waiting += 1
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def close(self) -> None:
        """Wake all clients so that their streams end."""
        self.closed = True
        self._changed.set()
        if self._watcher is not None:
            self._watcher.cancel()

    def close_threads(self) -> None:
        """End the threads that read the journal, after all streams have ended."""
        self._pages.close()
        self._thread.shutdown(cancel_futures=True)

    async def _call(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _watch(self) -> None:
        """Poll the journal while a client waits: often after a change, ten times a second otherwise."""
        try:
            while self._waiting:
                changed = await self._look()
                self._unchanged_polls = 0 if changed else self._unchanged_polls + 1
                busy = min(_CALM_SECONDS, _BUSY_SECONDS + _CLIENT_SECONDS * self._waiting)
                await asyncio.sleep(_CALM_SECONDS if self._unchanged_polls > _BUSY_LOOKS else busy)
        except StateError:
            # The journal is lost or damaged: the streams end, and the next request reports it.
            self.close()
        finally:
            self._watcher = None

    async def _look(self) -> bool:
        """Take over the new lines; return whether the journal has changed."""
        version, seen = self._version, self._seen
        try:
            found = await self._call(lambda: _read_news(self._journal, version, seen))
        except StateError as error:
            if error.code not in _PASSING:
                raise
            return False  # the streams stay open until the store answers again
        if found is None:
            return False
        kept = self._newest if found.start == seen else []
        self._newest = [*kept, *found.frames][-PAGE:]
        self._seen = found.frames[-1].position if found.frames else found.start
        self._version = found.version
        self.change_count += 1
        risen, self._changed = self._changed, asyncio.Event()
        risen.set()
        return True


def _read_news(journal: SqlJournal, version: int, seen: int) -> _News | None:
    """Read the lines after a position, after a long gap only the last page; None if nothing was written."""
    now = journal.version()
    if now == version:
        return None
    start = max(seen, journal.position() - PAGE)
    return _News(now, start, [encode_frame(line) for line in journal.feed(start, None, PAGE)])
