"""Failures of different tasks in a row with one cause."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.evolve import begin
from ostler.engine.failure_streak import FailureStreak
from ostler.errors import Code
from ostler.model.event import Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.plan import Phase, Plan
from ostler.model.state import State
from ostler.model.status import TaskStatus as S
from ostler.model.task import Task


def ended(task: str, status: S, code: Code | None = None) -> State:
    created = TaskCreated(Task("x"), Plan((Phase("implement", 1),)), 1, "seed")
    return replace(begin(Record(TaskId(task), 1, 0.0, created)), status=status, code=code)


def reason(*states: State, limit: int = 3) -> str:
    streak = FailureStreak()
    for state in states:
        streak.add(state, limit)
    return streak.reason


def failed(task: str, code: Code = Code.AGENT_FAILED) -> State:
    return ended(task, S.FAILED, code)


def test_three_tasks_with_one_code() -> None:
    """The reason has the code, the setting and the next command."""
    text = reason(failed("a"), failed("b"), failed("c"))
    assert "3 tasks in a row failed with AGENT_FAILED" in text
    assert "run.stop_after_failures" in text and "ostler retry --code AGENT_FAILED" in text


def test_what_is_no_streak() -> None:
    """The same task again, another code, a success in between, and no limit."""
    assert not reason(failed("a"), failed("a"), failed("a"))
    assert not reason(failed("a"), failed("b"), failed("c", Code.TIMEOUT))
    assert not reason(failed("a"), failed("b"), ended("c", S.COMPLETED), failed("d"))
    assert not reason(*(failed(name) for name in "abcdef"), limit=0)


def test_a_task_that_waits_is_no_evidence() -> None:
    """A deferred or held task neither ends the streak nor counts."""
    waiting = [ended("x", S.DEFERRED, Code.NETWORK), ended("y", S.PENDING, Code.AUTH_FAILED)]
    assert reason(failed("a"), failed("b"), *waiting, failed("c"))
