"""Access to time; tests pass another clock."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The time source of every layer above the core."""

    def now(self) -> float:
        """Return seconds since the epoch, for records and display."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock, for deadlines and durations."""
        ...

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait; a cancelled caller returns at once."""
        ...


class SystemClock:
    """The clock of the machine."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    @staticmethod
    async def sleep(seconds: float) -> None:
        import asyncio  # noqa: PLC0415  (most commands need no event loop)

        await asyncio.sleep(max(0.0, seconds))


def format_rfc3339(at: float) -> str:
    """Return a time as in JSON: UTC with milliseconds and a final Z."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def format_local_time(at: float, now: float) -> str:
    """Return a time for display: 14:05 today, with the date on other days."""
    moment, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%Y-%m-%d %H:%M")


def read_time(text: str) -> float:
    """Parse a time of today, or a date with or without time; local without a zone. Raises ValueError."""
    today = datetime.now().date().isoformat()
    for candidate in (text.strip(), f"{today}T{text.strip()}"):
        try:
            return datetime.fromisoformat(candidate).timestamp()
        except (ValueError, OverflowError):
            continue
    raise ValueError(text)


Now = Callable[[], float]
