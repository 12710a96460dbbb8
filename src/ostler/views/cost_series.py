"""What was spent over time, by model or by task (ostler.cost-series/1)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.store.spending import Ended

SeriesBy = Literal["model", "task"]
Bucket = Literal["hour", "day"]
OTHERS = "others"
_MOST = 12  # series; the rest is summed up
_SPANS: dict[Bucket, timedelta] = {"hour": timedelta(hours=48), "day": timedelta(days=30)}
_MOST_BUCKETS: dict[Bucket, int] = {"hour": 24 * 31, "day": 3 * 366}


class Series(Struct, frozen=True):
    key: str
    usd: tuple[float, ...]  # for each bucket, of what is known
    tokens: tuple[int, ...]
    unknown: tuple[int, ...]  # attempts whose cost nobody knows; they are not in usd


class SeriesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.cost-series/1"
    by: SeriesBy
    bucket: Bucket
    buckets: tuple[str, ...]  # when each begins
    series: tuple[Series, ...]  # the dearest first; "others" last


def usual_since(bucket: Bucket, now: float) -> float:
    """Two days by the hour, thirty by the day."""
    return now - _SPANS[bucket].total_seconds()


def view_series(
    ended: Iterable[Ended], by: SeriesBy, bucket: Bucket, since: float, now: float, tz: tzinfo | None = None
) -> SeriesView:
    """Every bucket from `since` to now, the empty ones too."""
    starts = _starts(bucket, since, now, tz)
    places = {start: number for number, start in enumerate(starts)}
    usd: dict[str, list[float]] = {}
    tokens: dict[str, list[int]] = {}
    unknown: dict[str, list[int]] = {}
    for one in ended:
        place = places.get(_start(datetime.fromtimestamp(one.at, tz), bucket))
        if place is not None:
            key = one.attempt.model if by == "model" else one.attempt.task
            usd.setdefault(key, [0.0] * len(starts))[place] += one.attempt.cost_usd or 0.0
            tokens.setdefault(key, [0] * len(starts))[place] += one.attempt.usage.total
            unknown.setdefault(key, [0] * len(starts))[place] += one.attempt.cost_usd is None
    ordered = sorted(usd, key=lambda key: (-sum(usd[key]), -sum(tokens[key]), key))
    series = [Series(key, tuple(usd[key]), tuple(tokens[key]), tuple(unknown[key])) for key in ordered]
    shown = series if len(series) <= _MOST else [*series[: _MOST - 1], _sum(series[_MOST - 1 :])]
    times = tuple(rfc3339(start.timestamp()) for start in starts)
    return SeriesView(by=by, bucket=bucket, buckets=times, series=tuple(shown))


def _starts(bucket: Bucket, since: float, now: float, tz: tzinfo | None) -> list[datetime]:
    """In local time, as a person counts days; the oldest are left out where they are too many."""
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
