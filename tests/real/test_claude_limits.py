"""The real claude with a subscription on the local server: near a limit, at it, and back after the reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.model.call import CallResult, LimitReported
from ostler.testing.fake_llm import LIMITS, FakeLlm, reject, say
from real_claude import Seat

pytestmark = pytest.mark.full

HOUR, DAY = 3600.0, 86_400.0
NEAR_WINDOWS = {"five_hour": "warning", "seven_day": "allowed"}

# Case: its code, the windows by status, and the seconds until the reset.
CASES: dict[str, tuple[Code | None, dict[str, str], float | None]] = {
    "near": (None, NEAR_WINDOWS, None),
    "rejected": (Code.QUOTA_EXCEEDED, {"five_hour": "rejected", "seven_day": "allowed"}, 4 * HOUR),
    "weekly": (Code.QUOTA_EXCEEDED, {"five_hour": "allowed", "seven_day": "rejected"}, 3 * DAY),
    "opus": (
        Code.QUOTA_EXCEEDED,
        {"five_hour": "allowed", "seven_day": "allowed", "seven_day_opus": "rejected"},
        2 * DAY,
    ),
    "overage": (None, {**NEAR_WINDOWS, "overage": "allowed"}, None),
    "retry_after_hours": (Code.RATE_LIMITED, {}, None),
    "mid_stream": (Code.RATE_LIMITED, {}, 20.0),
}


def windows(result: CallResult) -> dict[str, str]:
    return {window.name: window.status for window in result.windows}


@pytest.mark.parametrize(
    "case", [pytest.param("rejected", marks=pytest.mark.smoke), *sorted(set(CASES) - {"rejected"})]
)
def test_a_limit_of_a_subscription(case: str, tmp_path: Path) -> None:
    """The code, every window with its status, the time of the reset, and no process left."""
    code, expected, wait = CASES[case]
    with FakeLlm([LIMITS[case]]) as llm:
        seat = Seat(tmp_path, llm, subscription=True)
        result = seat.spawn()
    assert (result.code, result.billing) == (code, "subscription"), result.message
    assert windows(result) == expected
    assert bool(seat.received(LimitReported)) == bool(expected)
    seconds = result.retry_after_seconds
    assert seconds is None if wait is None else seconds is not None and wait - 60 < seconds <= wait + 1
    assert code is not Code.QUOTA_EXCEEDED or len(llm.prompts) == 1
    assert seat.processes() == []


def test_the_use_of_a_window_is_that_of_the_header(tmp_path: Path) -> None:
    """93 % of the five-hour window, with the time of its reset."""
    with FakeLlm([LIMITS["near"]]) as llm:
        result = Seat(tmp_path, llm, subscription=True).spawn()
    five = result.windows[0]
    assert (five.name, five.used, five.seconds, five.source) == ("five_hour", 0.93, 5 * HOUR, "event")
    assert five.resets_at == round(llm.started_at + 4 * HOUR)


def test_a_key_has_no_windows(tmp_path: Path) -> None:
    """With an API key claude prints neither the event nor a time."""
    with FakeLlm([LIMITS["rejected"]]) as llm:
        result = Seat(tmp_path, llm).spawn()
    assert (result.code, result.windows, result.retry_after_seconds) == (Code.RATE_LIMITED, (), None)


def test_the_session_continues_after_the_reset(tmp_path: Path) -> None:
    """The rejected session is resumed with its history; the rejection was one request."""
    with FakeLlm([say("ANSWER-ONE"), reject(), say("ANSWER-TWO")]) as llm:
        seat = Seat(tmp_path, llm, subscription=True)
        first = seat.spawn("PROMPT-ONE")
        rejected = seat.resume("PROMPT-TWO", first.session_id)
        assert rejected.code is Code.QUOTA_EXCEEDED, rejected.message
        again = seat.resume("PROMPT-TWO", first.session_id)
    assert (again.code, again.text) == (None, "ANSWER-TWO"), again.message
    assert {one.session_id for one in (first, rejected, again)} == {first.session_id}
    assert llm.prompts[-1].holds("PROMPT-ONE") and llm.prompts[-1].holds("ANSWER-ONE")
