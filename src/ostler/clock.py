"""The time, asked for in one place, so that tests can pass another clock in."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the layers above the core may know about time."""

    def now(self) -> float:
        """Seconds since the epoch, for records and people."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump, for deadlines and durations."""
        ...

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait; cancelling the waiter ends the wait at once."""
        ...


class SystemClock:
    """The machine's own clock."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    @staticmethod
    async def sleep(seconds: float) -> None:
        import asyncio  # noqa: PLC0415  (reading a status needs no event loop)

        await asyncio.sleep(max(0.0, seconds))


def rfc3339(at: float) -> str:
    """A time as JSON shows it: UTC, milliseconds, a Z at the end."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def local_time(at: float, now: float) -> str:
    """A time as a person reads it: 14:05 today, with the date on any other day."""
    moment, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%Y-%m-%d %H:%M")


def read_time(text: str) -> float:
    """A time of today, or a date with or without one, local where no zone is given; ValueError for others."""
    today = datetime.now().date().isoformat()
    for said in (text.strip(), f"{today}T{text.strip()}"):
        try:
            return datetime.fromisoformat(said).timestamp()
        except (ValueError, OverflowError):
            continue
    raise ValueError(text)


Now = Callable[[], float]
