"""Notices what other processes write to the journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from ostler.errors import Code, OstlerError
from ostler.store.journal import Journal
from ostler.store.store import Store

_REPORTED_POLL_SECONDS = 1.0
_FLUSH_SECONDS = 0.02  # a write to a file is reported before its flush, and can be read only after it
_SETTLED_SECONDS = 1.0  # a flush that takes longer is found by the next poll
_log = logging.getLogger(__name__)


class Sleep(Protocol):
    """Waits for so long, or less."""

    def __call__(self, seconds: float) -> Awaitable[None]: ...


class WakeUp:
    """Sleeps that end at a write, if the store reports writes."""

    def __init__(self, store: Store) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._reports_writes = False
        self._reported_at = -_SETTLED_SECONDS
        self._listener = store.listen(self._note)

    async def sleep(self, seconds: float) -> None:
        """Wait; a store that reports writes is polled less often, except in the second after a report."""
        since = self._loop.time() - self._reported_at
        is_quiet = self._reports_writes and since > _SETTLED_SECONDS
        limit = max(seconds, _REPORTED_POLL_SECONDS) if is_quiet else seconds
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), limit)
            self._woken.clear()
            # Many reports in a row, as of the output of an agent, end no more sleeps than polling does.
            await asyncio.sleep(_FLUSH_SECONDS if since > seconds else seconds)
            self._reported_at = self._loop.time()

    def close(self) -> None:
        self._listener.close()

    def _note(self) -> None:
        """Called in the thread of the listener."""
        self._reports_writes = True
        self.wake()

    def wake(self) -> None:
        """End a sleep now; thread-safe."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._woken.set)


async def watch_journal(
    journal: Journal, poll_seconds: float, on_change: Callable[[], None], sleep: Sleep
) -> OstlerError:
    """Call `on_change` after each change; return when the journal is lost.

    Agents would work on without a record of it.
    """
    handled, reported = -1, ""
    while True:
        try:
            seen = journal.version()
            if seen != handled:
                on_change()
            # After an error the same version is handled again.
            handled = seen
        except OstlerError as error:
            if error.code is Code.JOURNAL_LOST:
                return error
            if error.message != reported:
                reported = error.message
                _log.warning("the journal cannot be watched, trying again: %s", error.message)
        await sleep(poll_seconds)
