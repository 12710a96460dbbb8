"""Whether a silent agent is at work, waits for a person, or hangs: the decision, without a process."""

from __future__ import annotations

import asyncio

import pytest

from ostler.errors import Code
from ostler.model.call import RetrySeen, TextSaid
from ostler.model.command import Patience, Silence, StopNow, Stopped
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.liveness import Alive, Hung, Liveness, NeedsInput, Quiet, Signals, judge
from ostler.worker.signs import Signs

IDLE = 600.0
SILENT = Signals(heard_at=1000.0)


@pytest.mark.parametrize(
    ("signals", "now", "judgement"),
    [
        (SILENT, 1000.0, Alive()),
        (SILENT, 1299.9, Alive()),
        (SILENT, 1300.0, Quiet(1000.0)),
        (SILENT, 1599.9, Quiet(1000.0)),
        (SILENT, 1600.0, Hung(1000.0)),
        (Signals(1000.0, worked_at=1500.0), 1600.0, Alive()),
        (Signals(1000.0, wrote_at=1500.0), 1900.0, Quiet(1500.0)),
        (Signals(1000.0, worked_at=1400.0, wrote_at=1500.0), 2100.0, Hung(1500.0)),
        (Signals(1000.0, waits_until=5000.0), 4000.0, Alive()),
        (Signals(1000.0, waits_until=5000.0), 5300.0, Quiet(5000.0)),
        (Signals(1000.0, waits_until=5000.0), 5600.0, Hung(5000.0)),
        (Signals(1000.0, question="Continue?"), 1299.0, Alive()),
        (Signals(1000.0, question="Continue?"), 1300.0, NeedsInput("Continue?")),
        (Signals(1000.0, question="Continue?"), 9999.0, NeedsInput("Continue?")),
        (Signals(1000.0, worked_at=1200.0, question="Continue?"), 1300.0, Alive()),
        (Signals(1000.0, waits_until=2000.0, question="Continue?"), 1900.0, Alive()),
    ],
)
def test_judgement(signals: Signals, now: float, judgement: object) -> None:
    """Any sign of life is one; half the time without is a warning, all of it a hang, a question neither."""
    assert judge(signals, now, IDLE) == judgement


class Watched:
    """An agent whose signs the test sets, looked at whenever its vigil wants to."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.heard_at = 0.0
        self.signs = Signs(1.0, 1)
        self.stdout = self.stderr = ""
        self.warned: list[float] = []
        self.vigil = Liveness(IDLE, self.clock, self.warned.append, lambda pid, cwd: self.signs)
        self.due = self.vigil.first_look_seconds

    def speak(self) -> None:
        self.heard_at = self.clock.monotonic()
        self.due = self.heard_at + self.vigil.first_look_seconds

    def look(self) -> Patience | StopNow:
        """The next look, at the time that the last one asked for."""
        self.clock.advance(self.due - self.clock.monotonic())
        silent = self.due - self.heard_at
        answer = asyncio.run(self.vigil.look(Silence(1, "/", silent, self.stdout, self.stderr)))
        if isinstance(answer, Patience):
            self.due += answer.seconds
        return answer

    def end(self) -> tuple[float, StopNow]:
        """When it is stopped, and why."""
        for _ in range(100):
            answer = self.look()
            if isinstance(answer, StopNow):
                return self.clock.monotonic(), answer
        raise AssertionError("it was never stopped")


def test_an_agent_without_any_sign_is_stopped_when_its_time_is_up() -> None:
    """Exactly at the idle timeout, after one warning at half of it."""
    agent = Watched()
    at, stopped = agent.end()
    assert (at, stopped.why) == (600.0, Stopped.IDLE)
    assert stopped.reason == "no output, work or written file for 600 s"
    assert agent.warned == [300.0]


def test_work_and_writes_grant_time_from_when_they_were_last_seen() -> None:
    """CPU over the share until 900 s, then a write at 1050 s: the hang is 600 s after that."""
    agent = Watched()
    while agent.due <= 900:
        agent.signs = Signs(agent.signs.cpu_seconds + 10.0, 1)
        assert isinstance(agent.look(), Patience)
    agent.signs = Signs(agent.signs.cpu_seconds, 2)
    agent.look()
    assert (agent.clock.monotonic(), agent.warned) == (1050.0, [])
    assert agent.end()[0] == 1650.0
    assert agent.warned == [300.0]


def test_a_little_cpu_is_no_work() -> None:
    """The timers of an agent that waits take some time of a core; that is no sign of life."""
    agent = Watched()
    while True:
        agent.signs = Signs(agent.signs.cpu_seconds + 0.04 * 150, 1)
        if isinstance(agent.look(), StopNow):
            break
    assert agent.clock.monotonic() == 600.0


def test_work_before_the_last_output_does_not_count() -> None:
    """The first look of a silence only takes the measure: what was worked before it spoke is past."""
    agent = Watched()
    agent.look()
    agent.clock.advance(20)
    agent.speak()
    agent.signs = Signs(100.0, 7)
    assert agent.end()[0] == agent.heard_at + 600.0


def test_a_wait_for_the_provider_is_no_hang_until_it_is_over() -> None:
    """The agent said how long; whatever it says next ends that."""
    agent = Watched()
    agent.vigil.hear(RetrySeen(Code.OVERLOADED, 2000.0))
    assert agent.end()[0] == 2600.0
    other = Watched()
    other.vigil.hear(RetrySeen(Code.OVERLOADED, 2000.0))
    other.vigil.hear(TextSaid("there we are"))
    assert other.end()[0] == 600.0


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_question_ends_it_at_half_the_time(stream: str) -> None:
    """Whoever waits for a person is told apart from a hang, and earlier; no warning comes before."""
    agent = Watched()
    setattr(agent, stream, "Reading\nContinue? (y/n)")
    assert agent.end() == (300.0, StopNow(Stopped.NEEDS_INPUT, "Continue? (y/n)"))
    assert agent.warned == []


def test_each_silence_is_warned_of_once() -> None:
    """Speaking ends a silence; the next one is worth a word again."""
    agent = Watched()
    while agent.due <= 450:
        agent.look()
    agent.clock.advance(10)
    agent.speak()
    agent.end()
    assert agent.warned == [300.0, 300.0]


def test_signs_that_cannot_be_had_are_no_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look into a directory that never answers is given up, and the clock decides."""
    monkeypatch.setattr("ostler.worker.liveness._SAMPLE_SECONDS", 0.0)
    agent = Watched()
    assert agent.end()[0] == 600.0
