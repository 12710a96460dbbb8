"""Times that people type."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ostler.clock import format_local_time, read_last_time, read_next_time, read_time
from ostler.errors import UsageError
from ostler.project.decisions.moments import parse_since, parse_start


@pytest.mark.parametrize("minutes", [-90, 90])
def test_a_time_of_day_is_the_next_or_the_last_one(minutes: int) -> None:
    """A start is in the future and a beginning in the past; what has a date is not moved."""
    noon = datetime.now().replace(hour=12, minute=0, second=0, microsecond=0)
    given, now = noon + timedelta(minutes=minutes), noon.timestamp()
    text = given.strftime("%H:%M")
    day = timedelta(days=1)
    later, earlier = (given, given - day) if minutes > 0 else (given + day, given)
    assert read_next_time(text, now) == later.timestamp()
    assert read_last_time(text, now) == earlier.timestamp()
    dated = given.isoformat()
    assert read_next_time(dated, now) == read_last_time(dated, now) == read_time(dated) == given.timestamp()


def test_a_time_in_the_next_minute_has_seconds() -> None:
    """Without them a short wait would be over in the minute in which it starts."""
    now = datetime(2026, 11, 16, 14, 5, 10)
    seconds = {-1: "14:05", 2: "14:05:12", 59: "14:06:09", 60: "14:06", 86400: "2026-11-17 14:05"}
    for later, shown in seconds.items():
        assert format_local_time((now + timedelta(seconds=later)).timestamp(), now.timestamp()) == shown


@pytest.mark.parametrize("text", ["tomorrow", "", "2026-13-01", "15.11.2026", "25:00", "9" * 30])
def test_an_invalid_time_is_refused(text: str) -> None:
    """The error shows the expected format."""
    for parse in (parse_since, parse_start):
        with pytest.raises(UsageError, match="invalid"):
            parse(text)
