"""A clock for tests: sleeping takes no time, and every sleep is recorded."""

from __future__ import annotations

import asyncio
import time
from heapq import heappop, heappush
from itertools import count

from ostler.calls.thread import is_thread_running

_TURNS = 50  # iterations of the event loop in which others can start to wait before time advances
_THREAD_SECONDS = 1.0  # in which a thread can end before time advances


class VirtualClock:
    """Time advances to the earliest waiter whenever the event loop is idle and no thread writes files."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.slept: list[float] = []
        self._now = now
        self._began = now
        self._jumped = 0.0  # by which the system clock was set forward
        self._order = count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._moving: asyncio.Task[None] | None = None

    def now(self) -> float:
        return self._now + self._jumped

    def monotonic(self) -> float:
        return self._now - self._began

    def advance(self, seconds: float) -> None:
        """Advance the time without waking waiters."""
        self._now += seconds

    def jump(self, seconds: float) -> None:
        """Set the system clock forward or back; the monotonic clock and the waiters are not affected."""
        self._jumped += seconds

    async def sleep(self, seconds: float) -> None:
        seconds = max(0.0, seconds)
        self.slept.append(seconds)
        woken = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (self._now + seconds, next(self._order), woken))
        if self._moving is None or self._moving.done():
            self._moving = asyncio.create_task(self._move())
        await woken

    async def _move(self) -> None:
        while self._waiting:
            await self._wait_until_idle()
            due, _, woken = heappop(self._waiting)
            if not woken.done():
                self._now = max(self._now, due)
                woken.set_result(None)

    async def _wait_until_idle(self) -> None:
        """Wait until the others wait too; briefly for threads, which may wait for this clock."""
        end = time.monotonic() + _THREAD_SECONDS
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        while is_thread_running() and time.monotonic() < end:
            await asyncio.sleep(0.001)
            for _ in range(_TURNS):
                await asyncio.sleep(0)
