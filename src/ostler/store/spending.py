"""Totals of the costs of a project's attempts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Self

from msgspec import Struct

from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.store import codec
from ostler.store.database import Database

_PAGE = 5000

# Read from the index alone; count(x) leaves out nulls.
_SUM_SINCE = """
    SELECT coalesce(sum(cost_usd), 0.0), count(*) - count(cost_usd) FROM attempt WHERE ended_at >= $1"""
_SELECT_UNPRICED = "SELECT body FROM attempt WHERE ended_at >= $1 AND cost_usd IS NULL"
_SELECT_UNDATED = "SELECT body FROM attempt WHERE ended_at IS NULL AND status <> 'running'"
_SELECT_OF_TASK = "SELECT body FROM attempt WHERE task = $1 AND status <> 'running'"
_SELECT_PAGE = """
    SELECT task, number, ended_at, body FROM attempt
    WHERE (task, number) > ($1, $2) AND status <> 'running' AND (ended_at IS NULL OR ended_at >= $3)
    ORDER BY task, number LIMIT $4"""


class SpentAmount(Struct, frozen=True):
    """Known dollars, and the number of attempts of unknown cost."""

    usd: float = 0.0
    unknown: int = 0  # attempts that ended, of unknown cost
    unpriced: Usage = Usage()  # their tokens

    def __add__(self, other: SpentAmount) -> SpentAmount:
        return SpentAmount(self.usd + other.usd, self.unknown + other.unknown, self.unpriced + other.unpriced)


class EndedAttempt(Struct, frozen=True):
    """An attempt and when it ended."""

    at: float
    attempt: Attempt


class SpendingReader:
    """Reads totals over its own connection, for one thread."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._undated: list[tuple[float, SpentAmount]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def spent_today(self, now: float, tz: tzinfo | None = None) -> SpentAmount:
        """Return what all tasks spent since midnight, local time or `tz`."""
        return self.spent_since(day_start(now, tz))

    def spent_since(self, since: float) -> SpentAmount:
        usd, unknown = self._db.query(_SUM_SINCE, since)[0]
        unpriced = self._db.query(_SELECT_UNPRICED, since) if unknown else []
        tokens = sum((codec.decode_attempt(body).usage for (body,) in unpriced), Usage())
        undated = self._read_undated()
        later = undated[bisect_left(undated, since, key=_time) :]
        return sum((spent for _, spent in later), SpentAmount(usd, unknown, tokens))

    def spent_on(self, task: TaskId) -> SpentAmount:
        """Return what one task spent in all, also before it was retried or reopened."""
        found = self._db.query(_SELECT_OF_TASK, task)
        return sum((amount_of(codec.decode_attempt(body)) for (body,) in found), SpentAmount())

    def ended(self, since: float = 0.0) -> Iterator[EndedAttempt]:
        """Return the attempts that ended at this time or later, by task and number."""
        last = ("", 0)
        while page := self._db.query(_SELECT_PAGE, *last, since, _PAGE):
            found = (_to_ended_attempt(body, at) for _, _, at, body in page)
            yield from (one for one in found if one.at >= since)
            last = page[-1][:2]

    def _read_undated(self) -> list[tuple[float, SpentAmount]]:
        # Attempts that ended before the table had a column for it; no more are added.
        if self._undated is None:
            found = [_to_ended_attempt(body) for (body,) in self._db.query(_SELECT_UNDATED)]
            self._undated = sorted(((one.at, amount_of(one.attempt)) for one in found), key=_time)
        return self._undated


def day_start(now: float, tz: tzinfo | None = None) -> float:
    """Return the midnight before `now`."""
    moment = datetime.fromtimestamp(now, tz)
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def next_day_start(now: float, tz: tzinfo | None = None) -> float:
    """Return the midnight after `now`, also when the day has 23 or 25 hours."""
    tomorrow = datetime.fromtimestamp(now, tz) + timedelta(days=1)
    return tomorrow.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def _to_ended_attempt(body: bytes, at: float | None = None) -> EndedAttempt:
    attempt = codec.decode_attempt(body)
    return EndedAttempt(codec.calculate_end(attempt) if at is None else at, attempt)


def _time(undated: tuple[float, SpentAmount]) -> float:
    return undated[0]


def amount_of(attempt: Attempt) -> SpentAmount:
    """Return the cost of one attempt."""
    if attempt.cost_usd is None:
        return SpentAmount(unknown=1, unpriced=attempt.usage)
    return SpentAmount(attempt.cost_usd)
