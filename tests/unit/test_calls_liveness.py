"""Whether a silent agent works, waits for a person, or hangs: the decision, without a process."""

from __future__ import annotations

import asyncio

import pytest

from ostler.calls.attempts.liveness import (
    Alive,
    Hung,
    Idle,
    LivenessMonitor,
    LivenessSignals,
    NeedsInput,
    classify,
)
from ostler.calls.attempts.liveness_signals import ActivitySample
from ostler.errors import Code
from ostler.model.call import RetryReported, TextReceived
from ostler.model.command import ExtendIdleTimeout, IdleTimeout, StopNow, StopReason
from ostler.testing.virtual_clock import VirtualClock

IDLE = 600.0
SILENT = LivenessSignals(output_at=1000.0)


@pytest.mark.parametrize(
    ("signals", "now", "state"),
    [
        (SILENT, 1000.0, Alive()),
        (SILENT, 1299.9, Alive()),
        (SILENT, 1300.0, Idle(1000.0)),
        (SILENT, 1599.9, Idle(1000.0)),
        (SILENT, 1600.0, Hung(1000.0)),
        (LivenessSignals(1000.0, cpu_at=1500.0), 1600.0, Alive()),
        (LivenessSignals(1000.0, write_at=1500.0), 1900.0, Idle(1500.0)),
        (LivenessSignals(1000.0, cpu_at=1400.0, write_at=1500.0), 2100.0, Hung(1500.0)),
        (LivenessSignals(1000.0, waits_until=5000.0), 4000.0, Alive()),
        (LivenessSignals(1000.0, waits_until=5000.0), 5300.0, Idle(5000.0)),
        (LivenessSignals(1000.0, waits_until=5000.0), 5600.0, Hung(5000.0)),
        (LivenessSignals(1000.0, input_prompt="Continue?"), 1299.0, Alive()),
        (LivenessSignals(1000.0, input_prompt="Continue?"), 1300.0, NeedsInput("Continue?")),
        (LivenessSignals(1000.0, input_prompt="Continue?"), 9999.0, NeedsInput("Continue?")),
        (LivenessSignals(1000.0, cpu_at=1200.0, input_prompt="Continue?"), 1300.0, Alive()),
        (LivenessSignals(1000.0, waits_until=2000.0, input_prompt="Continue?"), 1900.0, Alive()),
    ],
)
def test_classify(signals: LivenessSignals, now: float, state: object) -> None:
    """Any activity counts; half the timeout without is idle, all of it hung; a question needs input."""
    assert classify(signals, now, IDLE) == state


class Watched:
    """An agent whose activity the test sets, checked whenever its monitor asks for it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.output_at = 0.0
        self.signs = ActivitySample(1.0, 1)
        self.stdout = self.stderr = ""
        self.warned: list[float] = []
        self.vigil = LivenessMonitor(IDLE, self.clock, self.warned.append, lambda pid, cwd: self.signs)
        self.due = self.vigil.first_check_seconds

    def speak(self) -> None:
        self.output_at = self.clock.monotonic()
        self.due = self.output_at + self.vigil.first_check_seconds

    def look(self) -> ExtendIdleTimeout | StopNow:
        """Run the next check, at the time that the last one returned."""
        self.clock.advance(self.due - self.clock.monotonic())
        silent = self.due - self.output_at
        answer = asyncio.run(self.vigil.check_idle(IdleTimeout(1, "/", silent, self.stdout, self.stderr)))
        if isinstance(answer, ExtendIdleTimeout):
            self.due += answer.seconds
        return answer

    def end(self) -> tuple[float, StopNow]:
        """Return when it is stopped, and why."""
        for _ in range(100):
            answer = self.look()
            if isinstance(answer, StopNow):
                return self.clock.monotonic(), answer
        raise AssertionError("it was never stopped")


def test_an_agent_without_any_sign_is_stopped_when_its_time_is_up() -> None:
    """It is stopped exactly at the idle timeout, after one warning at half of it."""
    agent = Watched()
    at, stopped = agent.end()
    assert (at, stopped.cause) == (600.0, StopReason.IDLE)
    assert stopped.reason == "no output, CPU use or file change for 600 s"
    assert agent.warned == [300.0]


def test_work_and_writes_grant_time_from_when_they_were_last_seen() -> None:
    """CPU over the share until 900 s, then a write at 1050 s: the hang is 600 s after that."""
    agent = Watched()
    while agent.due <= 900:
        agent.signs = ActivitySample(agent.signs.cpu_seconds + 10.0, 1)
        assert isinstance(agent.look(), ExtendIdleTimeout)
    agent.signs = ActivitySample(agent.signs.cpu_seconds, 2)
    agent.look()
    assert (agent.clock.monotonic(), agent.warned) == (1050.0, [])
    assert agent.end()[0] == 1650.0
    assert agent.warned == [300.0]


def test_a_little_cpu_is_no_work() -> None:
    """The timers of a waiting agent use a little CPU; that is not activity."""
    agent = Watched()
    while True:
        agent.signs = ActivitySample(agent.signs.cpu_seconds + 0.04 * 150, 1)
        if isinstance(agent.look(), StopNow):
            break
    assert agent.clock.monotonic() == 600.0


def test_work_before_the_last_output_does_not_count() -> None:
    """The first check of a silence only takes a sample: activity before the last output does not count."""
    agent = Watched()
    agent.look()
    agent.clock.advance(20)
    agent.speak()
    agent.signs = ActivitySample(100.0, 7)
    assert agent.end()[0] == agent.output_at + 600.0


def test_a_wait_for_the_provider_is_no_hang_until_it_is_over() -> None:
    """The agent reports how long it waits; its next event ends that."""
    agent = Watched()
    agent.vigil.on_event(RetryReported(Code.OVERLOADED, 2000.0))
    assert agent.end()[0] == 2600.0
    other = Watched()
    other.vigil.on_event(RetryReported(Code.OVERLOADED, 2000.0))
    other.vigil.on_event(TextReceived("there we are"))
    assert other.end()[0] == 600.0


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_question_ends_it_at_half_the_time(stream: str) -> None:
    """A request for input is detected earlier than a hang, without a warning."""
    agent = Watched()
    setattr(agent, stream, "Reading\nContinue? (y/n)")
    assert agent.end() == (300.0, StopNow(StopReason.NEEDS_INPUT, "Continue? (y/n)"))
    assert agent.warned == []


def test_each_silence_is_warned_of_once() -> None:
    """Output ends an idle period; the next period is reported again."""
    agent = Watched()
    while agent.due <= 450:
        agent.look()
    agent.clock.advance(10)
    agent.speak()
    agent.end()
    assert agent.warned == [300.0, 300.0]


def test_signs_that_cannot_be_had_are_no_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of a directory that does not respond is abandoned, and the clock decides."""
    monkeypatch.setattr("ostler.calls.attempts.liveness._SAMPLE_SECONDS", 0.0)
    agent = Watched()
    assert agent.end()[0] == 600.0
