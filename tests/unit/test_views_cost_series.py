"""Cost over time: every bucket is present, and the sums equal those of the bill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from journal_values import make_attempt
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.store.spending import EndedAttempt
from ostler.views.cost.series import OTHERS, Bucket, default_since, view_series

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC).timestamp()
HOUR, DAY = 3600.0, 86400.0


def paid(usd: float | None, at: float, model: str = "sonnet", task: str = "a") -> EndedAttempt:
    attempt = replace(make_attempt(), status="succeeded", cost_usd=usd, model=model, task=TaskId(task))
    return EndedAttempt(at, replace(attempt, usage=Usage(10, 1)))


def test_hours_and_days_are_counted_from_their_beginning() -> None:
    """Empty buckets between them are present; older ones are left out."""
    ended = [paid(1.0, NOW), paid(2.0, NOW - HOUR), paid(None, NOW - 2 * HOUR), paid(5.0, NOW - 9 * HOUR)]
    view = view_series(ended, "model", "hour", NOW - 3 * HOUR, NOW, UTC)
    assert [start[11:16] for start in view.buckets] == ["09:00", "10:00", "11:00", "12:00"]
    assert view.series[0].usd == (0.0, 0.0, 2.0, 1.0)
    assert view.series[0].tokens == (0, 11, 11, 11)
    assert view.series[0].unknown == (0, 1, 0, 0)
    days = view_series(ended, "model", "day", NOW - 2 * DAY, NOW, UTC)
    assert [start[:10] for start in days.buckets] == ["2026-11-13", "2026-11-14", "2026-11-15"]
    assert days.series[0].usd == (0.0, 0.0, 8.0)


def test_the_dearest_come_first_and_the_rest_is_summed_up() -> None:
    """Twelve lines are the most that can be distinguished."""
    ended = [paid(float(number), NOW, task=f"task-{number:02d}") for number in range(30)]
    series = view_series(ended, "task", "day", NOW, NOW, UTC).series
    assert [one.key for one in series] == [f"task-{number}" for number in range(29, 18, -1)] + [OTHERS]
    assert sum(series[-1].usd) == sum(range(19))
    assert sum(sum(one.tokens) for one in series) == 30 * 11


@pytest.mark.parametrize(("bucket", "most"), [("hour", 24 * 31), ("day", 3 * 366)])
def test_a_beginning_long_ago_is_cut(bucket: Bucket, most: int) -> None:
    """A chart of a million bars is not readable."""
    assert len(view_series([], "model", bucket, 0.0, NOW, UTC).buckets) == most
    assert view_series([], "model", bucket, -1e18, NOW, UTC).series == ()


def test_usual_beginnings() -> None:
    """Two days by the hour, a month by the day."""
    assert NOW - default_since("hour", NOW) == 2 * DAY
    assert NOW - default_since("day", NOW) == 30 * DAY


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 400)), max_size=30))
def test_nothing_is_lost_on_the_days_when_clocks_change(bills: list[tuple[float, float]]) -> None:
    """Each bill since the beginning is in one bucket, in every zone."""
    zone = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 10, 30, 12, tzinfo=zone).timestamp()
    since = now - timedelta(days=20).total_seconds()
    ended = [paid(usd, now - hours * HOUR) for usd, hours in bills]
    for bucket in ("hour", "day"):
        view = view_series(ended, "model", bucket, since, now, zone)
        assert sum(sum(one.usd) for one in view.series) == pytest.approx(sum(usd for usd, _ in bills))
