"""A task as people and scripts see it: a state that can no longer be true is not shown."""

from __future__ import annotations

import pytest

from ostler.engine.core.evolve import fold
from ostler.engine.core.rules import RULES
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    GateWaiting,
    Published,
    Record,
    TaskClaimed,
    TaskCreated,
    TaskFailed,
    TaskPaused,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import Gate, Phase, Plan, build_plan
from ostler.model.rows import build_row
from ostler.model.task import Task
from ostler.views.task import TaskView, view_task

ID = TaskId("greet-ab12")
CREATED = TaskCreated(Task("Greet", id=ID, weight="trivial"), build_plan("trivial"), 1, "seed")
BEGUN: tuple[Event, ...] = (CREATED, TaskClaimed("r1"), TaskStarted())


def view(
    *events: Event, attempts: int = 0, abandoned: bool = False, calls: dict[str, CallEnded] | None = None
) -> TaskView:
    state = fold([Record(ID, n, float(n), event) for n, event in enumerate(events, 1)])
    begun = [Attempt(ID, "step", "r1", "implement", 1, "claude", 1.0, number=n + 1) for n in range(attempts)]
    return view_task(build_row(state), begun, abandoned, calls=calls)


@pytest.mark.parametrize(
    ("abandoned", "statuses"), [(False, ["interrupted", "running"]), (True, ["interrupted", "interrupted"])]
)
def test_only_the_newest_attempt_of_a_running_task_runs(abandoned: bool, statuses: list[str]) -> None:
    """An attempt that a killed run left open is shown as interrupted, with any status in its row."""
    shown = view(*BEGUN, attempts=2, abandoned=abandoned)
    assert [attempt.status for attempt in shown.attempts] == statuses
    assert shown.attempts[0].code is Code.INTERRUPTED


def test_a_running_attempt_has_no_verdict() -> None:
    """It resumes a call whose earlier attempt was interrupted; that end is not its own."""
    ended = {"step": CallEnded("implement", 1, "interrupted")}
    assert view(*BEGUN, attempts=2, calls=ended).attempts[1].verdict is None
    assert view(*BEGUN, attempts=2, calls=ended, abandoned=True).attempts[1].verdict == "interrupted"


def test_the_iteration_shown_never_passes_the_last_one() -> None:
    """A task that used all its iterations is shown at the last one, not at a next one."""
    calls = [CallEnded("implement", n, "continue") for n in range(1, 6)]
    assert view(*BEGUN, *calls[:4]).iteration == 5
    assert view(*BEGUN, *calls, TaskPaused(Code.ITERATION_LIMIT)).iteration == 5


def test_more_iterations_than_planned_are_shown_as_such() -> None:
    """After a person allowed more iterations, the sixth of five is shown as the sixth."""
    calls = [CallEnded("implement", n, "continue") for n in range(1, 6)]
    more = (TaskPaused(Code.ITERATION_LIMIT), DecisionRecorded("resume"), TaskClaimed("r2"), TaskStarted())
    assert view(*BEGUN, *calls, *more).iteration == 6


PLAN = Plan((Phase("implement", 5, gate=Gate("human")), Phase("test", 5, gate=Gate("command", command="x"))))
TWO = TaskCreated(Task("Greet", id=ID), PLAN, 1, "seed")
WAITS: tuple[Event, ...] = (
    TWO,
    TaskClaimed("r1"),
    TaskStarted("/w", "ostler/greet-ab12", "base"),
    CallEnded("implement", 1, "complete"),
    CheckpointMade("implement", "sha1"),
    GateWaiting("implement", "sha1", "look at it"),
)
PASSED = (
    *WAITS,
    DecisionRecorded("approve", "fine"),
    TaskClaimed("r2"),
    CallEnded("test", 1, "complete"),
    CheckpointMade("test", "sha2"),
)


def gates(shown: TaskView) -> list[tuple[str, str, str, str | None]]:
    return [(g.type, g.verdict, g.reason, g.sha) for g in (phase.gate for phase in shown.phases)]


def test_a_gate_is_shown_from_the_plan_until_it_is_asked() -> None:
    """Then it has the verdict and its commit."""
    assert gates(view(TWO)) == [("human", "pending", "", None), ("command", "pending", "", None)]
    assert gates(view(*WAITS))[0] == ("human", "pending", "look at it", "sha1")
    assert gates(view(*PASSED))[0] == ("human", "pass", "fine", "sha1")
    failed = GateDecided("test", "command", "could_not_run", "no such program", "sha2")
    assert gates(view(*PASSED, failed))[1] == ("command", "could_not_run", "no such program", "sha2")


def test_a_person_whom_the_agent_asked_for_is_a_human_gate() -> None:
    """A phase that the plan lets pass without a person has a human gate as well."""
    asked = (*BEGUN, CallEnded("implement", 1, "review"), CheckpointMade("implement", "sha1"))
    shown = view(*asked, GateWaiting("implement", "sha1", "look at it"))
    assert gates(shown) == [("human", "pending", "look at it", "sha1")]


def test_a_task_at_a_gate_is_shown_at_the_ended_iteration() -> None:
    """No second iteration is running."""
    shown = view(*WAITS)
    assert (shown.phase, shown.iteration, shown.phases[0].iterations) == ("implement", 1, 1)


def test_a_pull_request_is_shown() -> None:
    """It is the address of the published branch."""
    assert view(*BEGUN, Published("pr", "https://example.org/pull/1")).pr_url == "https://example.org/pull/1"


def test_what_a_task_comes_after_is_shown_and_what_is_left_of_it() -> None:
    """Only while the task itself has not ended."""
    first = (TaskId("first-ab12"), TaskId("second-ab12"))
    created = TaskCreated(Task("Last", id=ID, after=first, not_before=0.0), PLAN, 1, "seed")
    row = build_row(fold([Record(ID, 1, 1.0, created)]))
    shown = view_task(row, [], False, first[1:])
    assert (shown.after, shown.waits_for) == (first, first[1:])
    assert shown.not_before == "1970-01-01T00:00:00.000Z"


def test_the_phase_in_which_a_task_failed_is_failed() -> None:
    """A retry reopens it."""
    ended = CallEnded("implement", 1, "failed", Code.AGENT_FAILED)
    assert [one.status for one in view(*BEGUN).phases] == ["pending"]
    failed = TaskFailed(Code.AGENT_FAILED, "exited with status 3")
    assert [one.status for one in view(*BEGUN, ended, failed).phases] == ["failed"]


def test_gates_that_checked_nothing_are_named_together() -> None:
    """Whichever commit they belong to; a gate of another commit says so."""
    gates = (Phase(one, 5, gate=Gate("auto")) for one in ("spec", "implement", "test", "validate"))
    shown = view(
        TaskCreated(Task("Greet", id=ID), Plan(tuple(gates)), RULES, "seed"),
        *BEGUN[1:],
        CheckpointMade("spec", "a" * 40),
        GateDecided("spec", "auto", "not_checked", sha="a" * 40),
        CheckpointMade("implement", "b" * 40),
        GateDecided("implement", "command", "pass", sha="b" * 40),
        GateDecided("test", "auto", "not_checked", sha="b" * 40),
    )
    assert shown.verdicts is not None
    assert shown.verdicts.text == "implement: pass on bbbbbbbbbb; spec, test: not checked"
