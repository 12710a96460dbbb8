"""Times of schedules in a time zone with daylight saving time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ostler.errors import OstlerError
from ostler.model.task import Schedule
from ostler.sources.cron import format_minute, latest_time, local_zone, next_time


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    """02:30 does not exist on 2027-03-28 and exists twice on 2027-10-31."""
    monkeypatch.setenv("TZ", "Europe/Berlin")


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def times(line: str, after: str, count: int) -> list[str]:
    found, last = [], at(after)
    for _ in range(count):
        last = next_time(Schedule(line, "x:1"), last)
        found.append(datetime.fromtimestamp(last, UTC).strftime("%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("line", "after", "wanted"),
    [
        ("0 6 * * 1", "2026-11-15T12:00", ["11-16 05:00", "11-23 05:00"]),
        ("0 6 * * 1", "2027-03-26T12:00", ["03-29 04:00", "04-05 04:00"]),
        ("30 2 * * *", "2027-03-27T12:00", ["03-28 01:00", "03-29 00:30"]),
        ("30 2 * * *", "2027-10-30T12:00", ["10-31 00:30", "11-01 01:30"]),
        ("*/30 * * * *", "2027-10-31T00:10", ["10-31 00:30", "10-31 01:00", "10-31 01:30", "10-31 02:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00", ["02-28 23:00"]),
        ("0 9 * * MON-FRI", "2026-11-13T12:00", ["11-16 08:00"]),
    ],
)
def test_local_time(line: str, after: str, wanted: list[str]) -> None:
    """A skipped time is due right after, a repeated time is due once, and minute schedules continue."""
    assert times(line, after, len(wanted)) == wanted


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("", "it has 0 fields"),
        ("* * * * * *", "it has 6 fields"),
        ("61 * * * *", "bad minute"),
        ("0 6 * * noday", "bad day-of-week"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("@daily", "it has 1 field"),
    ],
)
def test_a_line_that_cannot_be_read(line: str, what: str) -> None:
    """The mistake is reported with its file and line."""
    with pytest.raises(OstlerError, match=f"a.yaml:3: schedule: .*{what}"):
        next_time(Schedule(line, "a.yaml:3"), 0.0)


def test_the_newest_of_a_window() -> None:
    """The end of the window is included, its beginning is not."""
    every = Schedule("0 * * * *", "x:1")
    noon = at("2026-11-15T12:00")
    assert latest_time(every, noon, noon + 3599) is None
    assert latest_time(every, noon - 1, noon) == noon
    assert latest_time(every, noon, noon + 3 * 3600) == noon + 3 * 3600


@pytest.mark.parametrize("name", ["Nowhere/Land", "XYZ+3", ":Europe/Berlin", ""])
def test_any_tz_is_a_zone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Also a name that the library does not have, or none."""
    monkeypatch.setenv("TZ", name)
    assert datetime.fromtimestamp(0, local_zone()).timestamp() == 0


def test_a_minute_has_one_name() -> None:
    """Also in the repeated hour."""
    assert format_minute(at("2027-10-31T00:30")) != format_minute(at("2027-10-31T01:30"))
