"""A number of places, given in the order in which they were asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from ostler.clock import Clock


class Line:
    """While someone waits no place is free: who leaves hands theirs to the first in the line."""

    def __init__(self, places: int, clock: Clock) -> None:
        self.places = places
        self.taken = 0
        self._most = 0  # taken at once, since the places were last made fewer
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def queued(self) -> int:
        return len(self._waiting)

    @property
    def used(self) -> int:
        """How many places were taken at once, at most; all of them where nobody came yet."""
        return self._most or self.places

    def narrow(self, places: int) -> None:
        """Have so many places from now on, one at least; who has one keeps it."""
        self.places = max(1, min(places, self.places))
        self._most = min(self._most, self.places)

    async def enter(self, seconds: float) -> None:
        """Take a place; TimeoutError when none came in time. Each enter that returned needs one leave."""
        if self.taken < self.places:
            self.taken += 1
            self._most = max(self._most, self.taken)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await within(seconds, turn, self._clock)
        except asyncio.CancelledError:
            if _was_given(turn):
                self.leave()  # the place came at the moment of the cancellation
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)

    def leave(self) -> None:
        """Give the place back; while there are more taken than there should be, nobody gets it."""
        while self._waiting and self.taken <= self.places:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1


async def within(seconds: float, answer: asyncio.Future[None], clock: Clock) -> None:
    """Wait for the answer; TimeoutError when so many seconds of this clock pass before."""
    alarm = asyncio.ensure_future(clock.sleep(seconds))
    alarm.add_done_callback(lambda _: answer.done() or answer.set_exception(TimeoutError()))
    try:
        await answer
    finally:
        alarm.cancel()


def _was_given(turn: asyncio.Future[None]) -> bool:
    return turn.done() and not turn.cancelled() and turn.exception() is None
