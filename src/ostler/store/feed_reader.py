"""Reads the feed for one reader from its own cursor, while other processes write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from ostler.model.event import FeedLine
from ostler.store.outbox import Outbox, OutboxMessage
from ostler.store.sql_journal import SqlJournal
from ostler.store.store import Store

_T = TypeVar("_T")


def feed_turn(reader: str) -> str:
    """Return the name of the turn to read for this reader."""
    return f"feed.{reader}"


class RetryLater(Exception):
    """Raised by a handler that cannot handle these lines now; it gets them again."""


HandleLines = Callable[[SqlJournal, Sequence[FeedLine]], Sequence[OutboxMessage]]
"""Handles lines of the feed, in the reader's thread; returns the messages that follow from them."""


class _Opened(NamedTuple):
    journal: SqlJournal
    outbox: Outbox


class FeedReader:
    """Reads the feed for one reader; only one process of a project reads for it at a time.

    It works in its own thread, so that neither the disk nor the handler blocks the caller.
    """

    def __init__(self, reader: str, handle: HandleLines, store: Store) -> None:
        self.reader = reader
        self._handle = handle
        self._store = store
        self._turn = store.turn(feed_turn(reader))
        self._thread = ThreadPoolExecutor(1, f"ostler-{reader}")
        self._opened: _Opened | None = None

    async def catch_up(self) -> bool:
        """Read to the end of the feed; return False when another process reads for this reader."""
        return await self._run(self._catch_up)

    async def is_caught_up(self) -> bool:
        """Return whether this or another process has read the whole feed."""
        return await self._run(self._is_caught_up)

    async def query_outbox(self, call: Callable[[Outbox], _T]) -> _T:
        return await self._run(lambda: call(self._open().outbox))

    async def close(self) -> None:
        """Close the store and let another process read."""
        try:
            await self._run(self._close)
        finally:
            self._thread.shutdown(wait=False)

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # In the thread

    def _catch_up(self) -> bool:
        if not self._turn.take():
            return False
        journal, outbox = self._open()
        after = outbox.position(self.reader)
        while after is not None and (lines := journal.feed(after)):
            messages, end = self._handle(journal, lines), lines[-1].position
            # A process that was cut off meanwhile continues after the one that took its turn.
            after = end if outbox.advance(self.reader, after, end, messages) else outbox.position(self.reader)
        return True

    def _is_caught_up(self) -> bool:
        journal, outbox = self._open()
        position = outbox.position(self.reader)
        return position is None or position >= journal.position()

    def _open(self) -> _Opened:
        if self._opened is None:
            self._opened = _Opened(self._store.open_journal(), self._store.open_outbox())
        return self._opened

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.journal.close()
            self._opened.outbox.close()
            self._opened = None
        self._turn.release()
