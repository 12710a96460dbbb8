"""What was spent: sums over the attempts of a project, read beside whoever writes them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

from msgspec import Struct

from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.store import codec
from ostler.store.database import Database

_PAGE = 5000

# From the index alone; count(x) leaves out what is null.
_SUM_SINCE = "SELECT total(cost_usd), count(*) - count(cost_usd) FROM attempt WHERE ended_at >= ?"
_SELECT_UNDATED = "SELECT body FROM attempt WHERE ended_at IS NULL AND status <> 'running'"
_SELECT_OF_TASK = "SELECT body FROM attempt WHERE task = ? AND status <> 'running'"
_SELECT_PAGE = """
    SELECT task, number, ended_at, body FROM attempt
    WHERE (task, number) > (?, ?) AND status <> 'running' AND (ended_at IS NULL OR ended_at >= ?)
    ORDER BY task, number LIMIT ?"""


class Spent(Struct, frozen=True):
    """Dollars that are known, and how many attempts may have cost more."""

    usd: float = 0.0
    unknown: int = 0  # attempts that ended, of which nobody knows the cost

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.usd + other.usd, self.unknown + other.unknown)


class Ended(Struct, frozen=True):
    """An attempt and when it ended."""

    at: float
    attempt: Attempt


class Spending:
    """A reader with a connection of its own, for one thread."""

    def __init__(self, path: Path, busy_timeout_seconds: float = 5.0) -> None:
        self._db = Database(path, busy_timeout_seconds=busy_timeout_seconds)
        self._undated: list[tuple[float, Spent]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def spent_today(self, now: float, tz: tzinfo | None = None) -> Spent:
        """By all tasks since midnight, where this machine stands or in `tz`."""
        return self.spent_since(day_start(now, tz))

    def spent_since(self, since: float) -> Spent:
        usd, unknown = self._db.ask(_SUM_SINCE, since)[0]
        old = self._old()
        later = old[bisect_left(old, since, key=_time) :]
        return sum((spent for _, spent in later), Spent(usd, unknown))

    def spent_on(self, task: TaskId) -> Spent:
        """By one task, ever: also before it was retried or reopened."""
        found = self._db.ask(_SELECT_OF_TASK, task)
        return sum((spent(codec.decode_attempt(body)) for (body,) in found), Spent())

    def ended(self, since: float = 0.0) -> Iterator[Ended]:
        """The attempts that ended at this time or later, by task and number."""
        last = ("", 0)
        while page := self._db.ask(_SELECT_PAGE, *last, since, _PAGE):
            found = (_ended(body, at) for _, _, at, body in page)
            yield from (one for one in found if one.at >= since)
            last = page[-1][:2]

    def _old(self) -> list[tuple[float, Spent]]:
        """Those that ended before their end had a column, by time; there will be no more of them."""
        if self._undated is None:
            found = [_ended(body) for (body,) in self._db.ask(_SELECT_UNDATED)]
            self._undated = sorted(((one.at, spent(one.attempt)) for one in found), key=_time)
        return self._undated


def day_start(now: float, tz: tzinfo | None = None) -> float:
    """Midnight before `now`."""
    moment = datetime.fromtimestamp(now, tz)
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def next_day_start(now: float, tz: tzinfo | None = None) -> float:
    """Midnight after `now`, also where the day has 23 or 25 hours."""
    tomorrow = datetime.fromtimestamp(now, tz) + timedelta(days=1)
    return tomorrow.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def _ended(body: bytes, at: float | None = None) -> Ended:
    attempt = codec.decode_attempt(body)
    return Ended(codec.ended_at(attempt) if at is None else at, attempt)


def _time(old: tuple[float, Spent]) -> float:
    return old[0]


def spent(attempt: Attempt) -> Spent:
    """What one attempt cost, as a sum of one."""
    return Spent(unknown=1) if attempt.cost_usd is None else Spent(attempt.cost_usd)
