"""When an agent that waits for its provider is ended."""

from __future__ import annotations

import asyncio

import pytest

from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.calls.attempts.liveness_signals import ActivitySample
from ostler.calls.attempts.provider_wait import ProviderWait
from ostler.errors import Code
from ostler.model.call import (
    AgentEvent,
    LineSkipped,
    RetryReported,
    TextReceived,
    ToolUsed,
    WarningRaised,
)
from ostler.model.command import ExtendIdleTimeout, IdleTimeout, StopNow, StopReason
from ostler.testing.virtual_clock import VirtualClock

MAX, QUIET = 60.0, 30.0


def after(*steps: tuple[float, AgentEvent]) -> ProviderWait:
    """Return the wait after these events, each at its time."""
    wait = ProviderWait(MAX, QUIET)
    for at, event in steps:
        wait.on_event(event, at)
    return wait


def retry(delay: float = 0.0, code: Code = Code.RATE_LIMITED) -> RetryReported:
    return RetryReported(code, delay)


@pytest.mark.parametrize(
    ("steps", "ends"),
    [
        ([(0, retry(60))], False),
        ([(0, retry(61))], True),
        ([(0, retry(20013))], True),
        ([(0, retry(30)), (30, retry(30))], False),
        ([(0, retry(30)), (30, retry(31))], True),
        ([(0, retry()), (59, retry())], False),
        ([(0, retry()), (30, retry()), (61, retry())], True),
        ([(0, retry(50)), (50, TextReceived("it answers")), (55, retry(50))], False),
        ([(0, retry(50)), (50, ToolUsed("shell")), (55, retry(50))], False),
        ([(0, retry(50)), (20, LineSkipped("noise")), (50, retry(50))], True),
        ([(0, retry(50)), (20, WarningRaised("a warning")), (50, retry(50))], True),
        ([(0, retry(5)), (500, retry(5))], False),
    ],
)
def test_the_waits_of_one_series_add_up(steps: list[tuple[float, AgentEvent]], ends: bool) -> None:
    """From the first retry to the end of the last announced wait, unless the provider answers."""
    assert bool(after(*steps).find_excess()) is ends


@pytest.mark.parametrize(
    ("steps", "last_sign", "now", "ends"),
    [
        ([(0, retry())], 0, 29, False),
        ([(0, retry())], 0, 30, True),
        ([(0, retry(20))], 0, 49, False),
        ([(0, retry(20))], 0, 50, True),
        ([(0, retry())], 25, 54, False),
        ([(0, retry())], 25, 55, True),
        ([], 0, 1000, False),
        ([(0, retry()), (1, TextReceived("it answers"))], 1, 1000, False),
    ],
)
def test_silence_counts_after_a_retry_and_its_announced_wait(
    steps: list[tuple[float, AgentEvent]], last_sign: float, now: float, ends: bool
) -> None:
    """Without a retry a silent agent has the whole idle timeout."""
    assert bool(after(*steps).find_silence(last_sign, now)) is ends


class Silent:
    """A silent agent that is checked as the runner does."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.activity = ActivitySample(0.0, 1)
        wait = ProviderWait(MAX, QUIET)
        self.monitor = LivenessMonitor(600.0, self.clock, sample=lambda *_: self.activity, provider_wait=wait)

    def check(self, after_seconds: float, stdout: str = "") -> ExtendIdleTimeout | StopNow:
        self.clock.advance(after_seconds)
        idle = IdleTimeout(1, ".", self.clock.monotonic(), stdout, "")
        return asyncio.run(self.monitor.check_idle(idle))

    def until_stopped(self, seconds: float) -> tuple[float, StopNow | None]:
        due = self.monitor.first_check_seconds
        while self.clock.monotonic() < seconds:
            verdict = self.check(due)
            if isinstance(verdict, StopNow):
                return self.clock.monotonic(), verdict
            due = verdict.seconds
        return self.clock.monotonic(), None


def test_an_agent_that_is_silent_after_a_retry_is_ended_after_the_quiet_time() -> None:
    """The checks begin early, so that activity in the quiet time is seen."""
    agent = Silent()
    assert agent.monitor.first_check_seconds == 150.0
    agent.monitor.on_event(retry())
    assert agent.monitor.first_check_seconds == QUIET / 4
    at, stop = agent.until_stopped(600.0)
    assert stop is not None and stop.cause is StopReason.PROVIDER
    assert at == QUIET and "no output for 30 s after it reported a retry (RATE_LIMITED)" in stop.reason


@pytest.mark.parametrize("code", [Code.OVERLOADED, Code.NETWORK, Code.STREAM_BROKEN, Code.API_ERROR])
def test_silence_after_a_short_failure_has_the_idle_timeout(code: Code) -> None:
    """One 503, then a model that thinks for minutes: the agent is healthy."""
    agent = Silent()
    agent.monitor.on_event(retry(code=code))
    assert agent.monitor.first_check_seconds == 150.0
    at, stop = agent.until_stopped(1000.0)
    assert stop is not None and stop.cause is StopReason.IDLE and at == 600.0


def test_a_limit_after_a_short_failure_bounds_the_silence() -> None:
    """The last retry decides."""
    limited = after((0, retry(code=Code.OVERLOADED)), (5, retry()))
    assert limited.find_silence(5, 35)
    overloaded = after((0, retry()), (5, retry(code=Code.OVERLOADED)))
    assert not overloaded.find_silence(5, 1000)


def test_an_agent_that_works_after_a_retry_is_not_ended() -> None:
    """CPU time is activity: it may be reading a long answer."""
    agent = Silent()
    agent.monitor.on_event(retry())
    for second in range(10, 100, 5):
        agent.activity = ActivitySample(float(second), 1)
        assert isinstance(agent.check(5.0), ExtendIdleTimeout)


def test_a_question_after_a_retry_needs_input() -> None:
    """A question is not a limit."""
    agent = Silent()
    agent.monitor.on_event(retry())
    verdict = agent.check(400.0, stdout="Paste your code here: (y/n)")
    assert isinstance(verdict, StopNow) and verdict.cause is StopReason.NEEDS_INPUT


def test_hours_end_the_agent_at_its_next_output() -> None:
    """Not at the next check of an idle agent."""
    agent = Silent()
    assert agent.monitor.check_output() is None
    agent.monitor.on_event(retry(20013.0, Code.QUOTA_EXCEEDED))
    stop = agent.monitor.check_output()
    assert stop is not None and stop.cause is StopReason.PROVIDER
    assert "it waits 20013 s for its provider (QUOTA_EXCEEDED)" in stop.reason
