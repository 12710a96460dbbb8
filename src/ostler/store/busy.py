"""The wait of a run for a journal that another process has locked; a signal ends it."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import apsw

from ostler.errors import CODES, Code, StateError
from ostler.store.sqlite_errors import busy_error
from ostler.waits import Wait

RUN_WAIT_SECONDS = 1800.0  # of a run, which must not drop the answer of an agent
STOP_WAIT_SECONDS = 3.0  # of a run that was asked to stop
RETRY_MS = 200  # SQLite's own wait while a signal may end ours
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    """Another process has locked the journal for longer than a run waits."""

    @property
    def exit(self) -> int:
        return CODES[Code.UNKNOWN].exit


def wait_while_busy(
    connection: apsw.Connection,
    path: Path,
    begin: Callable[[], object],
    busy_timeout_seconds: float,
    wait_seconds: float,
    stop: StopRequest,
) -> None:
    """Repeat `begin`, which failed because the journal is locked; raises StateError when the wait is over."""
    wait = Wait(
        lambda: f"waiting for the journal {path}: another process has locked it",
        wait_seconds,
        waited_seconds=busy_timeout_seconds,
    )
    connection.set_busy_timeout(RETRY_MS)
    try:
        with _catch_signals(stop) as is_interrupted:
            while not _try(begin):
                if is_interrupted() or stop.is_over():
                    raise busy_error(path)
                if not wait.pause():
                    raise _locked_error(path, wait_seconds)
        wait.finish()
    finally:
        connection.set_busy_timeout(int(busy_timeout_seconds * 1000))


def _try(begin: Callable[[], object]) -> bool:
    try:
        begin()
    except apsw.BusyError:
        return False
    return True


def _locked_error(path: Path, seconds: float) -> JournalLocked:
    return JournalLocked(
        Code.STATE_BUSY,
        f"another process has locked the journal {path} for more than {seconds / 60:g} min",
        "end that process, then run again; the answers of agents are kept",
    )


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
