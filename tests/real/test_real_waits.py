"""Real agents that wait for their provider inside themselves; only in make test-full.

What they print is recorded in tests/data/waits.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from fresh_prompts import fresh
from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.calls.attempts.provider_wait import ProviderWait
from ostler.clock import SystemClock
from ostler.errors import Code
from ostler.model.call import AgentEvent, CallResult, RetryReported, SessionReplaced
from ostler.testing.fake_llm import FakeLlm, Request, Turn, fail, say
from ostler.testing.llm.limit_cases import LIMITS
from ostler.testing.llm.script import Scripted
from real_agents import Seat

FIVE_HOURS = 5 * 3600 + 23 * 60 + 10
HOURS = fail(429, "Rate limit reached. Please try again in 5h23m10s.", retry_after=str(FIVE_HOURS))


class Rejecting:
    """Rejects every request until `ends` is called."""

    def __init__(self, turn: Scripted) -> None:
        self._turn: Scripted = turn
        self.asked_at: list[float] = []

    def __call__(self, request: Request) -> Turn:
        self.asked_at.append(time.monotonic())
        return self._turn(request) if callable(self._turn) else self._turn

    def ends(self) -> None:
        self._turn = say("ANSWER-TWO")


def spawn(seat: Seat, quiet_seconds: float = 60.0) -> CallResult:
    """Run the agent with the supervision of an attempt."""
    monitor = LivenessMonitor(600.0, SystemClock(), provider_wait=ProviderWait(60.0, quiet_seconds))

    def on_event(event: AgentEvent) -> None:
        monitor.on_event(event)
        seat.events.append(event)

    return asyncio.run(seat.executor.spawn(seat.call("PROMPT-ONE", supervision=monitor), on_event))


@pytest.mark.parametrize(
    ("name", "turn"),
    [("gemini", LIMITS["exhausted"]), ("codex", HOURS), ("opencode", HOURS), ("copilot", HOURS)],
)
def test_a_limit_of_five_hours_ends_the_agent_within_seconds(
    name: str, turn: Scripted, tmp_path: Path
) -> None:
    """QUOTA_EXCEEDED with the time of the reset; afterwards the session continues."""
    rejecting = Rejecting(turn)
    with FakeLlm(rejecting) as llm:
        seat = Seat(name, tmp_path, llm)
        result = spawn(seat)
        assert result.code is Code.QUOTA_EXCEEDED, result.message
        assert result.retry_after_seconds == pytest.approx(FIVE_HOURS, abs=60.0)
        assert time.monotonic() - rejecting.asked_at[0] < 20
        assert seat.processes() == []
        rejecting.ends()
        again = seat.resume("PROMPT-TWO", result.session_id, fresh_prompt=fresh("PROMPT-TWO, from the start"))
    assert (again.code, again.text) == (None, "ANSWER-TWO"), again.message
    assert seat.received(SessionReplaced) == []
    assert llm.prompts[-1].holds("PROMPT-ONE") and llm.prompts[-1].holds("PROMPT-TWO")


def test_codex_acp_is_ended_after_its_silence(tmp_path: Path) -> None:
    """Its adapter reports the retry, but not the length of the wait."""
    rejecting = Rejecting(HOURS)
    with FakeLlm(rejecting) as llm:
        seat = Seat("codex-acp", tmp_path, llm)
        result = spawn(seat, quiet_seconds=4.0)
    assert result.code in (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED), result.message
    assert 3 < time.monotonic() - rejecting.asked_at[0] < 30
    assert seat.received(RetryReported) and result.session_id


def test_qwen_gives_up_after_seven_requests(tmp_path: Path) -> None:
    """No setting limits them, and it prints nothing meanwhile; its error is a failure."""
    rejecting = Rejecting(fail(429, "Rate limit reached for requests"))
    with FakeLlm(rejecting) as llm:
        result = spawn(Seat("qwen", tmp_path, llm))
    assert result.code is Code.RATE_LIMITED, result.message
    assert len(rejecting.asked_at) == 7
