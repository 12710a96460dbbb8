"""Reads the feed for one reader, from where it left off, beside whoever writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from ostler.files.layout import Layout
from ostler.files.lock import Held, try_lock
from ostler.model.event import FeedLine
from ostler.store.outbox import Letter, Outbox
from ostler.store.sqlite import SqliteJournal

_T = TypeVar("_T")


class NotTaken(Exception):
    """The reader could do nothing with these lines now; it gets them again."""


Take = Callable[[SqliteJournal, Sequence[FeedLine]], Sequence[Letter]]
"""Takes lines of the feed, in the follower's thread; gives what is to be told because of them."""


class _Open(NamedTuple):
    journal: SqliteJournal
    outbox: Outbox


class Follower:
    """One reader's; of several processes on a project one has the feed at a time, until it ends or dies.

    All of it happens in one thread of its own, so that neither the disk nor a reader holds up the caller.
    """

    def __init__(self, reader: str, take: Take, layout: Layout) -> None:
        self.reader = reader
        self._take = take
        self._database = layout.database
        self._lock: Path = layout.feed_lock(reader)
        self._thread = ThreadPoolExecutor(1, f"ostler-{reader}")
        self._held: Held | None = None
        self._open: _Open | None = None

    async def catch_up(self) -> bool:
        """Read on to the end of the feed; False when another process is the one that reads."""
        return await self._do(self._catch_up)

    async def is_through(self) -> bool:
        """Whether somebody, here or elsewhere, has read all that is written."""
        return await self._do(self._is_through)

    async def ask(self, call: Callable[[Outbox], _T]) -> _T:
        return await self._do(lambda: call(self._files().outbox))

    async def close(self) -> None:
        """Let go of the files and of the feed."""
        try:
            await self._do(self._close)
        finally:
            self._thread.shutdown(wait=False)

    async def _do(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # In the thread

    def _catch_up(self) -> bool:
        if self._held is None:
            self._held = try_lock(self._lock, patient=False)
        if self._held is None:
            return False
        journal, outbox = self._files()
        after = outbox.position(self.reader)
        while after is not None and (lines := journal.feed(after)):
            letters = self._take(journal, lines)
            after = lines[-1].position
            outbox.advance(self.reader, after, letters)
        return True

    def _is_through(self) -> bool:
        journal, outbox = self._files()
        position = outbox.position(self.reader)
        return position is None or position >= journal.position()

    def _files(self) -> _Open:
        if self._open is None:
            self._open = _Open(SqliteJournal(self._database), Outbox(self._database))
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._open.journal.close()
            self._open.outbox.close()
            self._open = None
        if self._held is not None:
            self._held.release()
            self._held = None
