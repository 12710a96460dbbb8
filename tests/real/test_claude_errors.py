"""The real claude with a failing provider: each row has its code, and no process is left."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ostler.errors import Code
from ostler.model.call import RetryReported
from ostler.testing.fake_llm import FAULTS, FakeLlm, limited, say
from real_claude import Seat

pytestmark = pytest.mark.full

# Row: its code, and the maximum number of requests that claude makes with the two retries that it has.
ROWS: dict[str, tuple[Code | None, int]] = {
    "d1_seconds": (Code.RATE_LIMITED, 1),
    "d1_garbage": (Code.RATE_LIMITED, 3),
    "d2_no_header": (Code.RATE_LIMITED, 3),
    "d2_spend_limit_429": (Code.BILLING, 3),
    "d2_spend_limit_400": (Code.BILLING, 6),
    "d2_credit": (Code.BILLING, 1),
    "d2_payment": (Code.BILLING, 1),
    "d3_529": (Code.OVERLOADED, 3),
    "d3_500": (Code.OVERLOADED, 3),
    "d3_502_html": (Code.OVERLOADED, 3),
    "d4_error_event": (Code.OVERLOADED, 3),
    "d8_401": (Code.AUTH_FAILED, 3),
    "d8_403": (Code.AUTH_FAILED, 1),
    "d9_404": (Code.MODEL_NOT_FOUND, 2),
    "d10_max_tokens": (Code.OUTPUT_LIMIT, 4),
    "d10_refusal": (Code.REFUSED, 2),
    "d10_empty": (Code.RESPONSE_EMPTY, 2),
    "d10_unknown_block": (None, 1),
    "d11_413": (Code.PROMPT_TOO_LARGE, 1),
    "d11_context": (Code.PROMPT_TOO_LARGE, 1),
}
SOON_SECONDS = 40.0  # ten times what the slowest row takes


@pytest.mark.parametrize("row", ROWS)
def test_each_fault_of_the_provider_has_its_code(row: str, tmp_path: Path) -> None:
    """The expected code within seconds, no more requests than allowed, and no process left."""
    code, requests = ROWS[row]
    began = time.monotonic()
    with FakeLlm([FAULTS[row]]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn()
    assert result.code is code, result.message
    assert 1 <= len(llm.prompts) <= requests
    assert time.monotonic() - began < SOON_SECONDS
    assert seat.processes() == []
    assert code is None or (result.message.startswith("claude ") and "\n" not in result.message)


@pytest.mark.parametrize("row", ["d5_reset", "d5_end"])
def test_a_connection_that_breaks_is_reported_as_such(row: str, tmp_path: Path) -> None:
    """STREAM_BROKEN, or NETWORK when the next request uses the closed connection first."""
    with FakeLlm([FAULTS[row]]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn()
    assert result.code in (Code.STREAM_BROKEN, Code.NETWORK), result.message
    assert 2 <= len(llm.prompts) <= 4
    assert seat.processes() == []


@pytest.mark.parametrize("row", ["d6_pings", "d6_endless", "d7_silence"])
def test_a_provider_that_never_ends_is_left(row: str, tmp_path: Path) -> None:
    """Claude prints nothing while it waits for ten minutes; the timeout of the settings applies."""
    with FakeLlm([FAULTS[row]]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn(idle_timeout_seconds=2.0)
    assert result.code is Code.IDLE_TIMEOUT, result.message
    assert 2.0 <= result.duration_seconds < 20.0
    assert seat.processes() == []


def test_a_short_limit_is_waited_for_by_claude_itself(tmp_path: Path) -> None:
    """A limit that ends within the retries of claude is reported and costs no attempt."""
    with FakeLlm([limited("1"), say("ANSWER")]) as llm:
        seat = Seat(tmp_path, llm)
        result = seat.spawn()
    assert result.text == "ANSWER", result.message
    assert [event.code for event in seat.received(RetryReported) if isinstance(event, RetryReported)] == [
        Code.RATE_LIMITED
    ]


@pytest.mark.smoke
def test_a_long_limit_is_not_waited_for(tmp_path: Path) -> None:
    """Claude does not wait for more than a minute, and prints no time: the delay is that of the settings."""
    with FakeLlm([limited("3600")]) as llm:
        result = Seat(tmp_path, llm).spawn()
    assert (result.code, result.retry_after_seconds) == (Code.RATE_LIMITED, None)


def test_an_unknown_tool_is_the_models_mistake(tmp_path: Path) -> None:
    """The model gets an error, and the run continues."""
    with FakeLlm([FAULTS["d10_tool_only"], say("ANSWER")]) as llm:
        result = Seat(tmp_path, llm).spawn()
    assert result.text == "ANSWER", result.message
    assert llm.prompts[1].holds("no_such_tool")
