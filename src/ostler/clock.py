"""Access to time; tests pass another clock."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

_DAY = timedelta(days=1)
_SOON_SECONDS = 60.0  # a time without seconds would show the current minute


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
    """Return a time for display: 14:05 today, 14:05:30 in the next minute, with the date on other days."""
    moment, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    if now < at < now + _SOON_SECONDS:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%Y-%m-%d %H:%M")


def read_time(text: str) -> float:
    """Parse a time of today, or a date with or without time; local without a zone. Raises ValueError."""
    return _read_moment(text)[0].timestamp()


def read_next_time(text: str, now: float) -> float:
    """Parse a time; a time of day that has passed is tomorrow's. Raises ValueError."""
    moment, is_time_of_day = _read_moment(text)
    return (moment + _DAY if is_time_of_day and moment.timestamp() <= now else moment).timestamp()


def read_last_time(text: str, now: float) -> float:
    """Parse a time; a time of day that is still to come is yesterday's. Raises ValueError."""
    moment, is_time_of_day = _read_moment(text)
    return (moment - _DAY if is_time_of_day and moment.timestamp() > now else moment).timestamp()


def _read_moment(text: str) -> tuple[datetime, bool]:
    """Return the moment, and whether only a time of day was given, which is then today's."""
    today = datetime.now().date().isoformat()
    for candidate, is_time_of_day in ((text.strip(), False), (f"{today}T{text.strip()}", True)):
        try:
            moment = datetime.fromisoformat(candidate)
            moment.timestamp()  # some dates have none
        except (ValueError, OverflowError, OSError):
            continue
        return moment, is_time_of_day
    raise ValueError(text)


Now = Callable[[], float]
