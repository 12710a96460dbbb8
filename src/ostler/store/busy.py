"""The wait of a run for a store that it cannot write to now; a signal ends it."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

from ostler.errors import CODES, Code, StateError
from ostler.waits import Wait

RUN_WAIT_SECONDS = 1800.0  # of a run, which must not drop the answer of an agent
STOP_WAIT_SECONDS = 3.0  # of a run that was asked to stop
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

WaitEnd = Literal["done", "stopped", "late"]


class StopRequest:
    """Ends the waits of a run soon after it was asked to stop; its connections in all threads share it."""

    def __init__(self) -> None:
        self._wait_until = math.inf

    def set(self) -> None:
        self._wait_until = min(self._wait_until, time.monotonic() + STOP_WAIT_SECONDS)

    def is_set(self) -> bool:
        return self._wait_until < math.inf

    def is_over(self) -> bool:
        return time.monotonic() >= self._wait_until


class JournalLocked(StateError):
    """The store could not be written to for longer than a run waits."""

    @property
    def exit(self) -> int:
        return CODES[Code.UNKNOWN].exit


def wait_while_busy(
    attempt: Callable[[], bool],
    describe: Callable[[], str],
    *,
    wait_seconds: float,
    waited_seconds: float,  # before
    stop: StopRequest,
) -> WaitEnd:
    """Repeat `attempt` until it returns True, a signal or `stop` ends the wait, or the time is over."""
    wait = Wait(describe, wait_seconds, waited_seconds=waited_seconds)
    with _catch_signals(stop) as is_interrupted:
        while not attempt():
            if is_interrupted() or stop.is_over():
                return "stopped"
            if not wait.pause():
                return "late"
    wait.finish()
    return "done"


@contextmanager
def _catch_signals(stop: StopRequest) -> Generator[Callable[[], bool]]:
    """Yield whether a signal arrived: the event loop, which handles signals, is blocked by this wait."""
    arrived = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield arrived.is_set
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        arrived.set()
        stop.set()

    # The event loop is woken up by the same signal later: its own handler still stops the run.
    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield arrived.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
