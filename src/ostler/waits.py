"""Waits for what another process holds: reported after a few seconds, and over when the step is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

REPORT_AFTER_SECONDS = 5.0
_stop: ContextVar[threading.Event | None] = ContextVar("stop_waiting", default=None)


def set_stop_event(event: threading.Event) -> None:
    """End the waits of this context, and of threads that copy it, when the event is set."""
    _stop.set(event)


def report_wait(message: str) -> None:
    """Print what this process waits for, on stderr."""
    import logging  # noqa: PLC0415  (a status must start fast, and most processes wait for nothing)

    logging.getLogger(__name__).warning("%s", message)


class Wait:
    """One wait in a thread: `pause` until the caller has what it waits for."""

    def __init__(
        self,
        describe: Callable[[], str],
        limit_seconds: float,
        pause_seconds: float = 0.05,
        waited_seconds: float = 0.0,
    ) -> None:
        self._describe = describe  # called once, after REPORT_AFTER_SECONDS
        self._started_at = time.monotonic() - waited_seconds  # that was waited before
        self._limit_seconds = limit_seconds
        self._pause_seconds = pause_seconds
        self._reported = ""

    def pause(self) -> bool:
        """Sleep a moment; return False if the time is over or the step was cancelled."""
        if not self.check():
            return False
        remaining = self._limit_seconds - (time.monotonic() - self._started_at)
        # A wait for the event would follow the real-time clock on some systems: a jump could make it endless.
        time.sleep(max(0.0, min(self._pause_seconds, remaining)))
        return True

    def check(self) -> bool:
        """Report a long wait; return False if the time is over or the step was cancelled."""
        waited = time.monotonic() - self._started_at
        stop = _stop.get()
        if waited >= self._limit_seconds or (stop is not None and stop.is_set()):
            return False
        if waited >= REPORT_AFTER_SECONDS and not self._reported:
            self._reported = self._describe()
            report_wait(self._reported)
        return True

    def finish(self) -> None:
        """Print that the wait is over, if it was reported."""
        if self._reported:
            waited = time.monotonic() - self._started_at
            subject = self._reported.removeprefix("waiting for ").partition(": ")[0]  # without the reason
            report_wait(f"the wait is over after {waited:.0f} s: {subject}")
