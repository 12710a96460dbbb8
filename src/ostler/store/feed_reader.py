"""Reads the feed for one reader from its own cursor, while other processes write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from ostler.files.layout import Layout
from ostler.files.lock import LockHandle, try_lock
from ostler.model.event import FeedLine
from ostler.store.outbox import Outbox, OutboxMessage
from ostler.store.sqlite import SqliteJournal

_T = TypeVar("_T")


class RetryLater(Exception):
    """Raised by a handler that cannot handle these lines now; it gets them again."""


HandleLines = Callable[[SqliteJournal, Sequence[FeedLine]], Sequence[OutboxMessage]]
"""Handles lines of the feed, in the reader's thread; returns the messages that follow from them."""


class _Files(NamedTuple):
    journal: SqliteJournal
    outbox: Outbox


class FeedReader:
    """Reads the feed for one reader; only one process of a project reads for it at a time.

    It works in its own thread, so that neither the disk nor the handler blocks the caller.
    """

    def __init__(self, reader: str, handle: HandleLines, layout: Layout) -> None:
        self.reader = reader
        self._handle = handle
        self._database = layout.database
        self._lock_path: Path = layout.feed_lock(reader)
        self._thread = ThreadPoolExecutor(1, f"ostler-{reader}")
        self._lock_handle: LockHandle | None = None
        self._opened: _Files | None = None

    async def catch_up(self) -> bool:
        """Read to the end of the feed; return False when another process reads for this reader."""
        return await self._run(self._catch_up)

    async def is_caught_up(self) -> bool:
        """Return whether this or another process has read the whole feed."""
        return await self._run(self._is_caught_up)

    async def query_outbox(self, call: Callable[[Outbox], _T]) -> _T:
        return await self._run(lambda: call(self._files().outbox))

    async def close(self) -> None:
        """Close the files and release the lock of the reader."""
        try:
            await self._run(self._close)
        finally:
            self._thread.shutdown(wait=False)

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # In the thread

    def _catch_up(self) -> bool:
        if self._lock_handle is None:
            self._lock_handle = try_lock(self._lock_path, retry=False)
        if self._lock_handle is None:
            return False
        journal, outbox = self._files()
        after = outbox.position(self.reader)
        while after is not None and (lines := journal.feed(after)):
            messages = self._handle(journal, lines)
            after = lines[-1].position
            outbox.advance(self.reader, after, messages)
        return True

    def _is_caught_up(self) -> bool:
        journal, outbox = self._files()
        position = outbox.position(self.reader)
        return position is None or position >= journal.position()

    def _files(self) -> _Files:
        if self._opened is None:
            self._opened = _Files(SqliteJournal(self._database), Outbox(self._database))
        return self._opened

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.journal.close()
            self._opened.outbox.close()
            self._opened = None
        if self._lock_handle is not None:
            self._lock_handle.release()
            self._lock_handle = None
