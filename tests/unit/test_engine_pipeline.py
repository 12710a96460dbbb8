"""Pipelines in the core: steps become tasks, a failure stops a run, three refusals ask a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.step import CallAgent, CheckGate, Finish
from ostler.engine.dependencies import settle
from ostler.engine.pipeline import Pipeline, PipelineStep, levels, stop_reason, tasks_of
from ostler.engine.schedule import held_back
from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    GateWaiting,
    Record,
    TaskBlocked,
    TaskClaimed,
    TaskCreated,
    TaskReopened,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import Gate, Phase, Plan, plan_for
from ostler.model.rows import row_of
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, Part, Task

ID, FIRST, SECOND = TaskId("last-ab12"), TaskId("first-ab12"), TaskId("second-ab12")


def step(name: str, *after: str) -> PipelineStep:
    return PipelineStep(name, "copy", name, after=after)


def member(name: str, status: TaskStatus, at: float, stops: bool = True) -> TaskRow:
    """A task of the run, as the store has it."""
    task = Task(name, id=TaskId(f"{name}-ab12"), skill="copy", pipeline=Part("run-ab12", name, 3, stops))
    state = fold([Record(task.id, 1, 0.0, TaskCreated(task, plan_for("trivial"), 1, "seed"))])
    return replace(row_of(state), status=status, updated_at=at)


def test_a_task_is_made_from_what_the_steps_before_it_write() -> None:
    """Its inputs are their outputs, then its own; it comes after them and knows its place in the run."""
    first = PipelineStep("one", "copy", "One", output=Output("one.md"))
    last = PipelineStep("two", "sum", "Two", inputs=(Input("notes.md"),), after=("one",), review="editor")
    tasks = tasks_of(Pipeline("p", (last, first)), "p-ab12", lambda one, task: f"out/{one.id}.md")
    assert [task.title for task in tasks] == ["One", "Two"]
    assert tasks[1].inputs == (Input("out/one.md", "Output of one"), Input("notes.md"))
    assert tasks[1].after == (tasks[0].id,)
    assert (tasks[1].pipeline, tasks[1].review) == (Part("p-ab12", "two"), "editor")
    assert tasks == tasks_of(Pipeline("p", (last, first)), "p-ab12", lambda one, task: f"out/{one.id}.md")


def test_where_others_go_on_inputs_are_optional() -> None:
    """What an upstream step did not write is left out instead of failing the task."""
    tasks = tasks_of(Pipeline("p", (step("a"), step("b", "a")), stops=False), "p-ab12", lambda one, task: "x")
    assert tasks[1].after_any and tasks[1].inputs[0].optional


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)))
def test_rows_need_only_what_stands_above_them(needs: list[set[int]]) -> None:
    """Every step is in exactly one row, below all that it comes after."""
    steps = [step(str(n), *(str(m) for m in sorted(wants) if m < n)) for n, wants in enumerate(needs)]
    rows = levels(steps)
    assert sorted(one.id for row in rows for one in row) == sorted(one.id for one in steps)
    seen: set[str] = set()
    for row in rows:
        assert all(seen.issuperset(one.after) for one in row)
        seen.update(one.id for one in row)


F, C, P = TaskStatus.FAILED, TaskStatus.COMPLETED, TaskStatus.PENDING


@pytest.mark.parametrize(
    ("stops", "ends", "last"),
    [
        (True, "", ""),
        (True, "c", ""),
        (True, "cf", "b"),
        (True, "fc", "a"),
        (False, "ff", ""),
        (False, "fff", "c"),
        (False, "cfff", "d"),
        (False, "fffc", ""),
        (False, "ffcff", ""),
        (False, "ffcfff", "f"),
    ],
)
def test_when_a_run_stops(stops: bool, ends: str, last: str) -> None:
    """At the first failure, or at the third in a row where others go on; the reason names the task."""
    rows = [
        member(name, F if end == "f" else C, float(at), stops)
        for at, (name, end) in enumerate(zip("abcdef", ends, strict=False))
    ]
    reason = stop_reason([member("z", P, 99.0, stops), *reversed(rows)])
    assert (f"{last}-ab12" in reason) if last else reason == ""


def waiting(after_any: bool = False, *events: Event) -> TaskRow:
    task = Task(
        "Last", id=ID, after=(FIRST, SECOND), after_any=after_any, skill="copy", pipeline=Part("r", "last")
    )
    story = (TaskCreated(task, plan_for("trivial"), 1, "seed"), *events)
    return row_of(fold([Record(ID, n, float(n), event) for n, event in enumerate(story, 1)]))


@pytest.mark.parametrize(
    ("first", "second", "held", "blocked"),
    [
        ("completed", "completed", False, False),
        ("completed", "failed", False, False),
        ("failed", "pending", True, False),
        ("failed", "cancelled", False, True),
        ("pending", "completed", True, False),
    ],
)
def test_one_that_comes_after_any_needs_one_document(
    first: str, second: str, held: bool, blocked: bool
) -> None:
    """It waits until all have ended, and is blocked only when none was completed."""
    standing = {FIRST: first, SECOND: second}
    assert held_back(waiting(after_any=True), standing) is held
    assert isinstance(settle(waiting(after_any=True), standing), TaskBlocked) is blocked


def test_a_stopped_run_blocks_what_has_not_begun_and_lets_it_go_again() -> None:
    """The reason is the run's; without one the task is opened again."""
    done = {FIRST: "completed", SECOND: "completed"}
    stopped = settle(waiting(), done, "its pipeline stopped: x failed")
    assert stopped == TaskBlocked(Code.DEPENDENCY_FAILED, "its pipeline stopped: x failed")
    blocked = waiting(False, stopped)
    assert settle(blocked, done, "its pipeline stopped: x failed") is None
    assert settle(blocked, done) == TaskReopened(by="dependency")


EDITED = Plan(
    (Phase("write", 5, gate=Gate("ai", skill="editor", then_person=True)),),
    max_phase_retries=1,
    document=True,
)
WRITTEN = (CallEnded("write", 1, "complete"), CheckpointMade("write", output="out.md"))


def document(*events: Event, plan: Plan = EDITED) -> State:
    task = Task("Copy", id=ID, skill="copy", output=Output("out.md"))
    story = (TaskCreated(task, plan, 1, "seed"), TaskClaimed("r"), TaskStarted(), *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(story, 1)])


def refused(number: int, signature: str = "") -> GateDecided:
    return GateDecided("write", "ai", "fail", f"no {number}", signature=signature)


def test_a_document_is_written_at_its_checkpoint() -> None:
    """The state knows where, and the gate is asked about no commit."""
    state = document(*WRITTEN)
    assert state.output == "out.md"
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and wanted.sha is None and wanted.gate.skill == "editor"


def test_when_no_revision_is_left_a_person_decides() -> None:
    """One more no does not end the task: the gate is a person's from there on, and their word counts."""
    again = document(*WRITTEN, refused(1))
    assert isinstance(decide(again), CallAgent)
    asked = document(*WRITTEN, refused(1), *WRITTEN, refused(2))
    wanted = decide(asked)
    assert isinstance(wanted, CheckGate) and wanted.gate == Gate("human")
    rests = document(*WRITTEN, refused(1), *WRITTEN, refused(2), GateWaiting("write", None, "look"))
    assert rests.status is TaskStatus.NEEDS_REVIEW
    yes = evolve(rests, Record(ID, rests.seq + 1, 1.0, DecisionRecorded("approve")))
    done = decide(evolve(yes, Record(ID, yes.seq + 1, 1.0, TaskClaimed("s"))))
    assert isinstance(done, Finish) and done.ending.status is TaskStatus.COMPLETED
    no = evolve(rests, Record(ID, rests.seq + 1, 1.0, DecisionRecorded("reject", "worse")))
    assert (no.status, no.code) == (TaskStatus.BLOCKED, Code.GATE_REJECTED)


def test_the_same_no_three_times_asks_a_person_as_well() -> None:
    """Stuck is for gates that have nobody to turn to."""
    plan = replace(EDITED, max_phase_retries=9)
    state = document(*(one for _ in range(3) for one in (*WRITTEN, refused(1, "same"))), plan=plan)
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and wanted.gate == Gate("human")


def test_a_cancel_says_why_where_it_was_no_person() -> None:
    """The end of a task that its pipeline took along."""
    ends = decide(document(DecisionRecorded("cancel", "its pipeline stopped")))
    assert isinstance(ends, Finish) and ends.ending.message == "its pipeline stopped"
    assert decide(document(DecisionRecorded("cancel"))).ending.message == "cancelled by a person"  # type: ignore[union-attr]
