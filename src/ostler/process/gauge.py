"""The memory of one running program and all that it started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from ostler.process.keeper import Keeper
from ostler.process.memory import exact_kb, most_kb, processes_below

LOOK_SECONDS = 1.0
SOON_SECONDS = 0.25  # before the first look, and while half of the limit is taken
_RUSAGE_PER_MB = 1024 if sys.platform == "linux" else 1024 * 1024


class Gauge:
    """Looks about once a second, and calls `on_over` when the limit is passed."""

    def __init__(self, keeper: Keeper, limit_mb: int | None, on_over: Callable[[], None]) -> None:
        self._keeper = keeper
        self._on_over = on_over
        self._limit_kb = limit_mb * 1024 if limit_mb else 0
        self._peak_kb = 0
        self._watching: asyncio.Task[None] | None = None

    @property
    def peak_mb(self) -> int | None:
        """The most that was seen; of a short program what the system says of its main process."""
        return -(-self._peak_kb // 1024) or -(-self._keeper.largest // _RUSAGE_PER_MB) or None

    def begin(self) -> None:
        """Look from now on."""
        self._watching = asyncio.create_task(self._watch())

    def end(self) -> None:
        """Look no more; what is being read is not waited for."""
        if self._watching:
            self._watching.cancel()

    async def _watch(self) -> None:
        pause = SOON_SECONDS
        while not 0 < self._limit_kb < self._peak_kb:
            await asyncio.sleep(pause)
            taken = await self._look()
            pause = SOON_SECONDS if 0 < self._limit_kb < 2 * taken else LOOK_SECONDS
        self._on_over()

    async def _look(self) -> int:
        """Read exactly only what may be a new peak: that takes longer, and the lock of what is read."""
        assert self._keeper.started
        pids = processes_below(self._keeper.started.keeper)
        taken = most_kb(pids)
        if taken > self._peak_kb:
            taken = await asyncio.to_thread(exact_kb, pids)
            self._peak_kb = max(self._peak_kb, taken)
        return taken
