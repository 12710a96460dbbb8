"""When the programs that are stopped together have to be killed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

MIN_GRACE_RATIO = 0.5  # of the grace time, which each program has at least


class _Turn(NamedTuple):
    loop: asyncio.AbstractEventLoop
    began: float  # the first stop


class StopTimes:
    """Gives one deadline to all stops of one turn of the event loop.

    The keepers that are notified first stop their programs before the run has notified the last one. Without
    a common deadline a thousand programs were killed over half a second, and the stop took that much longer.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._turn: _Turn | None = None

    def find_kill_time(self, grace_seconds: float) -> float:
        """Return the monotonic time of SIGKILL for a program that is stopped now."""
        now, loop, turn = self._monotonic(), asyncio.get_running_loop(), self._turn
        if turn is None or turn.loop is not loop:  # another thread can have a loop of its own
            turn = self._turn = _Turn(loop, now)
            loop.call_soon(self._end_turn)
        return max(turn.began + grace_seconds, now + MIN_GRACE_RATIO * grace_seconds)

    def _end_turn(self) -> None:
        self._turn = None
