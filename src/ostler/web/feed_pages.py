"""Past pages of the feed, read in a thread: clients that catch up do not delay the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec import Struct

from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.notify.occasion import OCCASION_TYPES, occasion_of
from ostler.store.sql_journal import SqlJournal
from ostler.views.agent_work.tool_verb import find_verb
from ostler.views.feed import EventJson, feed_json

PAGE = 200  # lines
_MOST_BYTES = 16 * 2**20  # of the pages that are kept
_Key = tuple[int, TaskId | None]


class EventFrame(Struct, frozen=True):
    """A line of the feed as a server-sent event."""

    position: int
    task: TaskId
    data: bytes


Frames = list[EventFrame]


class FeedPages:
    """Reads each page once for all clients that need it; used in the server's event loop."""

    def __init__(self, open_journal: Callable[[], SqlJournal]) -> None:
        self._open_journal = open_journal
        self._journal: SqlJournal | None = None  # of the thread
        self._thread = ThreadPoolExecutor(1, "web-feed")
        self._reading: dict[_Key, asyncio.Future[Frames]] = {}
        self._kept: OrderedDict[_Key, Frames] = OrderedDict()  # full pages, which never change
        self._bytes = 0

    async def read(self, after: int, task: TaskId | None) -> Frames:
        """Return the next page after a position."""
        key = (after, task)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        reading = self._reading.get(key)
        if reading is None:
            reading = asyncio.get_running_loop().run_in_executor(self._thread, self._load, after, task)
            self._reading[key] = reading
            reading.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(reading)  # a client that goes away does not cancel it for others

    def close(self) -> None:
        """End the thread after the page that it reads."""
        self._thread.shutdown(cancel_futures=True)

    def _load(self, after: int, task: TaskId | None) -> Frames:
        if self._journal is None:
            self._journal = self._open_journal()
        return [encode_frame(line) for line in self._journal.feed(after, task, PAGE)]

    def _keep(self, key: _Key, done: asyncio.Future[Frames]) -> None:
        del self._reading[key]
        if done.cancelled() or done.exception() is not None or len(done.result()) < PAGE:
            return
        self._kept[key] = done.result()
        self._bytes += _count_bytes(done.result())
        while self._bytes > _MOST_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _count_bytes(dropped)


def encode_frame(line: FeedLine) -> EventFrame:
    """Return a line as a server-sent event."""
    data = msgspec.json.encode(event_json(line))
    return EventFrame(line.position, line.task, b"id: %d\ndata: %s\n\n" % (line.position, data))


def event_json(line: FeedLine) -> EventJson:
    """Return a line of the feed; with the `verb` of a tool, and the `occasion` of a notification."""
    event = feed_json(line)
    if event["type"] == "tool_used":
        return {**event, "verb": find_verb(event["tool"])}
    found = occasion_of(line) if event["type"] in OCCASION_TYPES else None
    return event if found is None else {**event, "occasion": found.on}


def _count_bytes(frames: Frames) -> int:
    return sum(len(frame.data) for frame in frames)
