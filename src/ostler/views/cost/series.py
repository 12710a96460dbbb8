"""The cost over time, by model or by task (ostler.cost-series/1)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.store.spending import EndedAttempt

SeriesBy = Literal["model", "task"]
Bucket = Literal["hour", "day"]
OTHERS = "others"
_MOST = 12  # number of series; the others are added up
_SPANS: dict[Bucket, timedelta] = {"hour": timedelta(hours=48), "day": timedelta(days=30)}
_MOST_BUCKETS: dict[Bucket, int] = {"hour": 24 * 31, "day": 3 * 366}


class Series(Struct, frozen=True):
    key: str
    usd: tuple[float, ...]  # per bucket, known costs only
    tokens: tuple[int, ...]
    unknown: tuple[int, ...]  # number of attempts with unknown cost, which are not in usd


class SeriesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.cost-series/1"
    by: SeriesBy
    bucket: Bucket
    buckets: tuple[str, ...]  # start of each bucket
    series: tuple[Series, ...]  # most expensive first; "others" last


def default_since(bucket: Bucket, now: float) -> float:
    """Return the default start: two days of hours, thirty days of days."""
    return now - _SPANS[bucket].total_seconds()


def view_series(
    ended: Iterable[EndedAttempt],
    by: SeriesBy,
    bucket: Bucket,
    since: float,
    now: float,
    tz: tzinfo | None = None,
) -> SeriesView:
    """Return every bucket from `since` to now, including empty ones."""
    starts = _starts(bucket, since, now, tz)
    indexes = {start: number for number, start in enumerate(starts)}
    usd: dict[str, list[float]] = {}
    tokens: dict[str, list[int]] = {}
    unknown: dict[str, list[int]] = {}
    for one in ended:
        index = indexes.get(_start(datetime.fromtimestamp(one.at, tz), bucket))
        if index is not None:
            key = one.attempt.model if by == "model" else one.attempt.task
            usd.setdefault(key, [0.0] * len(starts))[index] += one.attempt.cost_usd or 0.0
            tokens.setdefault(key, [0] * len(starts))[index] += one.attempt.usage.total
            unknown.setdefault(key, [0] * len(starts))[index] += one.attempt.cost_usd is None
    ordered = sorted(usd, key=lambda key: (-sum(usd[key]), -sum(tokens[key]), key))
    series = [Series(key, tuple(usd[key]), tuple(tokens[key]), tuple(unknown[key])) for key in ordered]
    shown = series if len(series) <= _MOST else [*series[: _MOST - 1], _sum(series[_MOST - 1 :])]
    times = tuple(format_rfc3339(start.timestamp()) for start in starts)
    return SeriesView(by=by, bucket=bucket, buckets=times, series=tuple(shown))


def _starts(bucket: Bucket, since: float, now: float, tz: tzinfo | None) -> list[datetime]:
    """Return the starts of the buckets in local time, at most the newest _MOST_BUCKETS."""
    step = timedelta(hours=1) if bucket == "hour" else timedelta(days=1)
    at = _start(datetime.fromtimestamp(now, tz), bucket)
    first = _start(datetime.fromtimestamp(max(since, 0.0), tz), bucket)
    found: list[datetime] = []
    while at >= first and len(found) < _MOST_BUCKETS[bucket]:
        found.append(at)
        at -= step
    return found[::-1]


def _start(moment: datetime, bucket: Bucket) -> datetime:
    hour = moment.hour if bucket == "hour" else 0
    return moment.replace(hour=hour, minute=0, second=0, microsecond=0, fold=0)


def _sum(series: list[Series]) -> Series:
    usd = tuple(sum(values) for values in zip(*(one.usd for one in series), strict=True))
    tokens = tuple(sum(values) for values in zip(*(one.tokens for one in series), strict=True))
    unknown = tuple(sum(values) for values in zip(*(one.unknown for one in series), strict=True))
    return Series(OTHERS, usd, tokens, unknown)
