"""The feed as it grows: one watcher for all clients, who each read on from their own place."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.store.sqlite import SqliteJournal
from ostler.views.feed import feed_json

_PAGE = 200
_CALM_SECONDS, _BUSY_SECONDS = 0.1, 0.004  # between two looks
_BUSY_LOOKS = 250  # after the last change


class Words(Struct, frozen=True):
    """A line of the feed as clients get it."""

    position: int
    task: TaskId
    words: bytes


class Tide:
    """Used in the loop of the server only. Nothing is kept for a client but its place."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal
        self._newest: list[Words] = []  # the last page, which all who are up to date share
        self._seen = 0  # the position of its last line
        self._version = -1
        self._calm = 0  # looks since something was written
        self._waiting = 0  # clients; one that does not take what it was sent is none of them
        self._watcher: asyncio.Task[None] | None = None
        self._risen = asyncio.Event()
        self.mark = 0
        self.over = False

    def position(self) -> int:
        return self._journal.position()

    def read(self, after: int, task: TaskId | None) -> list[Words]:
        """The next page behind a position."""
        if self._newest and self._newest[0].position <= after + 1:
            return [one for one in self._newest if one.position > after and task in (None, one.task)]
        return [_words(line) for line in self._journal.feed(after, task, _PAGE)]

    async def rises(self, mark: int, seconds: float) -> bool:
        """Wait until there is more than at this mark, or the server ends; False when the time is over."""
        if mark != self.mark or self.over:
            return True
        self._waiting += 1
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout(seconds):
                await self._risen.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def end(self) -> None:
        """Let every client go."""
        self.over = True
        self._risen.set()
        if self._watcher is not None:
            self._watcher.cancel()

    async def _watch(self) -> None:
        """Look as long as anyone waits: often while things happen, ten times a second otherwise."""
        try:
            while self._waiting:
                version = self._journal.version()
                self._calm = self._calm + 1 if version == self._version else 0
                if version != self._version:
                    self._version = version
                    self._take()
                await asyncio.sleep(_CALM_SECONDS if self._calm > _BUSY_LOOKS else _BUSY_SECONDS)
        finally:
            self._watcher = None

    def _take(self) -> None:
        """Read what is new, once for all; of very much, only the end."""
        start = max(self._seen, self._journal.position() - _PAGE)
        kept = self._newest if start == self._seen else []
        fresh = [_words(line) for line in self._journal.feed(start, None, _PAGE)]
        self._newest = [*kept, *fresh][-_PAGE:]
        self._seen = fresh[-1].position if fresh else start
        self.mark += 1
        risen, self._risen = self._risen, asyncio.Event()
        risen.set()


def _words(line: FeedLine) -> Words:
    data = msgspec.json.encode(feed_json(line))
    return Words(line.position, line.task, b"id: %d\ndata: %s\n\n" % (line.position, data))
