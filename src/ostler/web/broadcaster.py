"""Send new lines of the feed to all clients; one task polls the journal for all of them."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from ostler.errors import StateError
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.store.sqlite import SqliteJournal
from ostler.views.feed import feed_json

_PAGE = 200
_CALM_SECONDS, _BUSY_SECONDS = 0.1, 0.004  # between two polls
_BUSY_LOOKS = 250  # after the last change


class EventFrame(Struct, frozen=True):
    """A line of the feed as a server-sent event."""

    position: int
    task: TaskId
    data: bytes


class EventBroadcaster:
    """Must be used in the server's event loop only; keeps no state per client."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal
        self._newest: list[EventFrame] = []  # the last page, shared by all clients that are up to date
        self._seen = 0  # position of its last line
        self._version = -1
        self._unchanged_polls = 0  # since the last change
        self._waiting = 0  # number of clients that wait for a change
        self._watcher: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.change_count = 0
        self.closed = False

    def position(self) -> int:
        return self._journal.position()

    def read(self, after: int, task: TaskId | None) -> list[EventFrame]:
        """Return the next page after a position."""
        if self._newest and self._newest[0].position <= after + 1:
            return [one for one in self._newest if one.position > after and task in (None, one.task)]
        return [_encode_frame(line) for line in self._journal.feed(after, task, _PAGE)]

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

    async def _watch(self) -> None:
        """Poll the journal while a client waits: often after a change, ten times a second otherwise."""
        try:
            while self._waiting:
                version = self._journal.version()
                self._unchanged_polls = self._unchanged_polls + 1 if version == self._version else 0
                if version != self._version:
                    self._version = version
                    self._read_new()
                await asyncio.sleep(_CALM_SECONDS if self._unchanged_polls > _BUSY_LOOKS else _BUSY_SECONDS)
        except StateError:
            # The journal is lost or damaged: the streams end, and the next request reports it.
            self.close()
        finally:
            self._watcher = None

    def _read_new(self) -> None:
        """Read the new lines; after a long gap only the last page."""
        start = max(self._seen, self._journal.position() - _PAGE)
        kept = self._newest if start == self._seen else []
        fresh = [_encode_frame(line) for line in self._journal.feed(start, None, _PAGE)]
        self._newest = [*kept, *fresh][-_PAGE:]
        self._seen = fresh[-1].position if fresh else start
        self.change_count += 1
        risen, self._changed = self._changed, asyncio.Event()
        risen.set()


def _encode_frame(line: FeedLine) -> EventFrame:
    data = msgspec.json.encode(feed_json(line))
    return EventFrame(line.position, line.task, b"id: %d\ndata: %s\n\n" % (line.position, data))
