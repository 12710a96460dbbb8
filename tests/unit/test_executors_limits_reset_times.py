"""The end of a limit in texts of programs: zones, midnight, changes of clocks, past and invalid times."""

from __future__ import annotations

import time
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.executors.limits.moments import JUST_PASSED_SECONDS
from ostler.executors.limits.reset_times import read_wait
from ostler.model.limits.window import LONGEST_SECONDS

NOW = datetime(2026, 11, 15, 20, 47, 30, tzinfo=UTC).timestamp()  # a Sunday
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@pytest.fixture(autouse=True)
def machine_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from move(monkeypatch, "UTC")


def move(monkeypatch: pytest.MonkeyPatch, zone: str) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", zone)
        time.tzset()
        yield
    time.tzset()


def at(text: str, now: float = NOW) -> str:
    """The time that a text names, in UTC."""
    wait = read_wait(text, now)
    return "" if wait is None else datetime.fromtimestamp(now + wait, UTC).strftime("%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s", 20.0),
        ("Please retry in 1.5s.", 1.5),
        ("retry after 30 seconds", 30.0),
        ("try again in 2 hours and 5 minutes", 7500.0),
        ("try again in 1 day 1 hour", 90_000.0),
        ("try again in 2 days 17 hours 14 minutes", 234_840.0),
        ("Retrying after 250ms", 0.25),
        ("Retrying after 20013483ms...", 20_013.483),
        ("Retrying in 60s (attempt 1/10)", 60.0),
        ("try again in 6m0s", 360.0),
        ("Your quota will reset after 5h23m10s.", 19_390.0),
        ("try again in less than a minute", 60.0),
        ("try again in an hour", 3600.0),
        ("try again in 1 month", LONGEST_SECONDS),
        ("try again in 400 days", LONGEST_SECONDS),
        ("Retry-After: 2", 2.0),
        ('"retry-after": "14400"', 14_400.0),
        ("retry-after-ms: 1500", 1.5),
        ("retryAfterMs=2500", 2.5),
        ('"retryDelay": "34.07s"', 34.07),
        ('"quotaResetDelay":"5h23m10s"', 19_390.0),
        ('{"type":"usage_limit_reached","resets_in_seconds":13975}', 13_975.0),
        ('{\\"resets_in_seconds\\":13975}', 13_975.0),
        ("try again later", None),
        ("try again in a while", None),
        ("retry 3 times", None),
        ("retry: 2", None),
        ("exceeded retry limit, last status: 429 Too Many Requests", None),
        ("wait 20s", None),
        ("", None),
    ],
)
def test_a_duration_is_read(text: str, seconds: float | None) -> None:
    """The delay in a text or a field, limited to the longest window."""
    assert read_wait(text, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resets 12:47am (UTC)", "11-16 00:48:00"),
        ("resets 11:30am (Asia/Colombo)", "11-16 06:01:00"),
        ("resets Nov 18, 3pm (Europe/Berlin)", "11-18 14:01:00"),
        ("resets Thursday 3pm", "11-19 15:01:00"),
        ("resets on Monday at 09:00 UTC", "11-16 09:01:00"),
        ("resets Sun 9pm", "11-15 21:01:00"),
        ("resets Sunday, 3pm", "11-22 15:01:00"),
        ("resets tomorrow at 3pm", "11-16 15:01:00"),
        ("resets today at 9pm", "11-15 21:01:00"),
        ("try again at Nov 16th, 2026 12:40 AM.", "11-16 00:41:00"),
        ("try again at 9:58 PM", "11-15 21:59:00"),
        ("try again at 9:58\u202fPM.", "11-15 21:59:00"),
        ("Retry-After: Fri, 20 Nov 2026 08:01:00 GMT", "11-20 08:01:00"),
        ("resets 2026-11-18 15:00 UTC", "11-18 15:01:00"),
        ('"quotaResetTimeStamp":"2026-11-16T00:40:00Z"', "11-16 00:40:00"),
        ("Claude AI usage limit reached|1794790050", "11-16 00:47:30"),
        ('"resets_at": 1794789625', "11-16 00:40:25"),
        ("resetsAt=1794789625000", "11-16 00:40:25"),
        ("resets 3pm (UTC-7)", "11-15 22:01:00"),
        ("resets 3pm PST", "11-15 23:01:00"),
        ("resets 21:30 (your local time)", "11-15 21:31:00"),
        ("5-hour limit reached ∙ resets 3am", "11-16 03:01:00"),
        ("weekly limit · resets Nov 19, 9:44am (UTC) · progress saved", "11-19 09:45:00"),
        ("resets Nov 18", "11-19 00:00:00"),
    ],
)
def test_an_absolute_time_is_read(text: str, expected: str) -> None:
    """A text without seconds is cut to the minute, so the end of that minute counts."""
    assert at(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resets 12am", "11-16 00:01:00"),
        ("resets 12pm", "11-16 12:01:00"),
        ("resets 00:00", "11-16 00:01:00"),
        ("resets 8:50pm", "11-15 20:51:00"),
        ("resets 8:46pm", "11-15 20:47:30"),
        ("resets 8:30pm", "11-16 20:31:00"),
        ("try again at Nov 15th, 2026 8:45 PM.", "11-15 20:47:30"),
        ("limit reached|1794775600", "11-15 20:47:30"),
    ],
)
def test_a_time_that_has_just_passed_is_now(text: str, expected: str) -> None:
    """A time of day is the next one, unless it passed a few minutes ago."""
    assert at(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "try again at Nov 16th, 2025 12:40 AM.",
        "resets Nov 10, 3pm (UTC)",
        "Claude AI usage limit reached|1699999999",
        "resets 2020-01-01T00:00:00Z",
        "resets Feb 30, 3pm",
        "resets 13pm",
        "resets 0am",
        "resets 25:00",
        "resets 12:75am",
        "resets 3pm (Mars/Olympus)",
        "resets 3pm (UTC+99)",
        "resets 3am IST",
        "resets at 2 AM PT",
        "resets 3am CST",
        "resets 3am (Pacific Time)",
        "resets at 3am Pacific time",
        "resets 3am Eastern",
        "reset at 2026-11-16 12:00:00 CST",
        "resets 2026-13-45T99:00:00Z",
        "resets soon",
    ],
)
def test_a_time_that_cannot_be_meant_is_not_used(text: str) -> None:
    """A past date, a time that does not exist, and a time of day in an unknown zone."""
    assert read_wait(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resets 3am CET", "11-16 02:01:00"),
        ("resets 10am JST", "11-16 01:01:00"),
        ("resets 3am UTC-05:00", "11-16 08:01:00"),
        ("resets 3am Z", "11-16 03:01:00"),
        ("reset at 2026-11-16 12:00:00 UTC", "11-16 12:00:00"),
        ("reset at 2026-11-16 12:00:00 UTC+8", "11-16 04:00:00"),
        ("reset at 2026-11-16 12:00:00 Asia/Tokyo", "11-16 03:00:00"),
    ],
)
def test_a_zone_after_a_time_is_not_the_local_one(
    text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the machine is."""
    assert at(text) == expected
    for _ in move(monkeypatch, "Asia/Kolkata"):
        assert at(text) == expected


@pytest.mark.parametrize("text", ["resets 3am (local time)", "resets 3am. Upgrade now", "resets 3am"])
def test_other_words_after_a_time_are_no_zone(text: str) -> None:
    """The time is local."""
    assert at(text) == "11-16 03:01:00"


def test_a_date_in_an_unknown_zone_is_the_latest_one() -> None:
    """Twelve hours behind UTC is the last place where a date comes."""
    assert at("resets Nov 18, 3pm (Mars/Olympus)") == "11-19 03:01:00"


def test_a_date_without_a_year_is_the_next_one() -> None:
    """In the last days of a year, January is that of the next year; December has just passed."""
    now = datetime(2026, 12, 31, 23, 58, tzinfo=UTC).timestamp()
    assert at("resets Jan 2, 3pm", now) == "01-02 15:01:00"
    assert read_wait("resets Dec 31, 11:58pm", now + 240) == 0.0


def test_a_month_away_is_the_longest_window() -> None:
    """A monthly limit is probed after the longest window."""
    assert read_wait("resets Dec 20, 3pm", NOW) == LONGEST_SECONDS


def test_the_provider_comes_before_the_delay_of_the_program() -> None:
    """gemini adds a delay of its own; only the time of the quota counts, of the last line."""
    text = "Your quota will reset after 5h23m10s.. Retrying after 20013483ms..."
    assert read_wait(text, NOW) == 19_390.0
    assert read_wait(f"{text}\nAttempt 2: your quota will reset after 2s.", NOW) == 2.0


def test_codex_prints_the_time_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a zone a time is local."""
    for _ in move(monkeypatch, "America/New_York"):
        assert at("try again at Nov 16th, 2026 12:40 AM.") == "11-16 05:41:00"
        assert at("try again at 7:58 PM") == "11-16 00:59:00"
        assert at("resets 12:47am (UTC)") == "11-16 00:48:00"


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        # In Berlin clocks go from 2:00 to 3:00 on March 28, 2027, and from 3:00 to 2:00 on October 31.
        ((2027, 3, 28, 0, 30), "resets 2:30am (Europe/Berlin)", "03-28 01:31:00"),
        ((2027, 3, 27, 23, 30), "resets 3:30am (Europe/Berlin)", "03-28 01:31:00"),
        ((2027, 10, 30, 23, 0), "resets 2:30am (Europe/Berlin)", "10-31 01:31:00"),
        ((2027, 10, 30, 23, 0), "resets 12am (Europe/Berlin)", "10-31 23:01:00"),
        ((2027, 10, 29, 12, 0), "resets Oct 31, 3pm (Europe/Berlin)", "10-31 14:01:00"),
    ],
)
@pytest.mark.parametrize("is_local", [False, True])
def test_a_change_of_clocks(
    now: tuple[int, ...], text: str, expected: str, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time that does not exist, or exists twice, is the later one, in a named and in the local zone."""
    moment = datetime(*now, tzinfo=UTC).timestamp()  # pyright: ignore[reportArgumentType]
    if not is_local:
        assert at(text, moment) == expected
    for _ in move(monkeypatch, "Europe/Berlin") if is_local else ():
        assert at(text.partition(" (")[0], moment) == expected


def test_a_machine_without_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    """UTC, offsets and local times are read; another zone is unknown."""
    monkeypatch.setattr("ostler.executors.limits.zones.ZoneInfo", _refuse)
    assert at("resets 12:47am (UTC)") == "11-16 00:48:00"
    assert at("resets 9:47pm") == "11-15 21:48:00"
    assert read_wait("resets 11:30am (Asia/Colombo)", NOW) is None
    assert at("resets Nov 18, 3pm (Europe/Berlin)") == "11-19 03:01:00"


def _refuse(key: str) -> ZoneInfo:
    raise zoneinfo.ZoneInfoNotFoundError(key)


WORDS = [
    "resets ",
    "try again ",
    "at ",
    "in ",
    "after ",
    "Nov ",
    "16th, ",
    "2026 ",
    "12:",
    "47",
    "am",
    " PM",
    "(",
    "UTC",
    "Europe/Berlin",
    "../..",
    ")",
    "Monday ",
    "9" * 30,
    "|",
    ":",
    "retry-after",
    "1794790050",
    "\n",
    "d",
    "99999999999999",
    "e308",
    "-",
    "\u0663",
    "\u202f",
    "ms",
    "h",
    "29 Feb ",
    "less than a ",
    "minute",
    "T",
    "Z",
]


@given(
    st.text() | st.lists(st.sampled_from(WORDS), max_size=12).map("".join),
    st.floats(1_000_000_000, 4_000_000_000),
)
def test_no_text_breaks_the_reading(text: str, now: float) -> None:
    """Any text gives None, or a time between now and the end of the longest window."""
    wait = read_wait(text, now)
    assert wait is None or 0 <= wait <= LONGEST_SECONDS


@given(st.floats(1, 7 * DAY), st.sampled_from(["UTC", "Asia/Colombo", "Europe/Berlin", "America/New_York"]))
def test_a_printed_time_is_never_read_too_early(seconds: float, zone: str) -> None:
    """What claude prints for a reset is read as that time or up to a minute later."""
    reset = datetime.fromtimestamp(NOW + seconds, ZoneInfo(zone))
    clock = f"{reset.hour % 12 or 12}:{reset.minute:02d}{'pm' if reset.hour >= 12 else 'am'}"
    day = f"{reset:%b} {reset.day}, " if seconds > DAY - JUST_PASSED_SECONDS - 2 * MINUTE else ""
    wait = read_wait(f"You've hit your limit · resets {day}{clock} ({zone})", NOW)
    assert wait is not None and seconds <= wait <= seconds + MINUTE


@pytest.mark.parametrize(
    "part", ["resets ", "try again in 1 ", "reset", "retry-after", "resets Nov 1", "9", "(a", " "]
)
def test_a_long_text_is_read_in_time(part: str) -> None:
    """A megabyte of any part is read within a fraction of a second."""
    text = part * (1_000_000 // len(part))
    began = time.perf_counter()
    read_wait(text, NOW)
    assert time.perf_counter() - began < 1.0
