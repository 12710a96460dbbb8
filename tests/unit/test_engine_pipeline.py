"""Pipelines: steps become tasks, a failure stops a run, three rejections escalate to a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.step import CallAgent, CheckGate, Finish
from ostler.engine.dependencies import find_dependency_event
from ostler.engine.pipeline import Pipeline, PipelineStep, build_tasks, find_stop_reason, group_by_level
from ostler.engine.task_queue import waits_for_dependency
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
from ostler.model.plan import Gate, Phase, Plan, build_plan
from ostler.model.rows import build_row
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, PipelineMember, Task

ID, FIRST, SECOND = TaskId("last-ab12"), TaskId("first-ab12"), TaskId("second-ab12")


def step(name: str, *after: str) -> PipelineStep:
    return PipelineStep(name, "copy", name, after=after)


def member(name: str, status: TaskStatus, at: float, stops: bool = True) -> TaskRow:
    """The row of a task of the run."""
    task = Task(
        name, id=TaskId(f"{name}-ab12"), skill="copy", pipeline=PipelineMember("run-ab12", name, 3, stops)
    )
    state = fold([Record(task.id, 1, 0.0, TaskCreated(task, build_plan("trivial"), 1, "seed"))])
    return replace(build_row(state), status=status, updated_at=at)


def test_a_task_is_made_from_what_the_steps_before_it_write() -> None:
    """Inputs are the outputs of earlier steps, then its own; dependencies and membership are set."""
    first = PipelineStep("one", "copy", "One", output=Output("one.md"))
    last = PipelineStep("two", "sum", "Two", inputs=(Input("notes.md"),), after=("one",), review="editor")
    tasks = build_tasks(Pipeline("p", (last, first)), "p-ab12", lambda one, task: f"out/{one.id}.md")
    assert [task.title for task in tasks] == ["One", "Two"]
    assert tasks[1].inputs == (Input("out/one.md", "Output of one"), Input("notes.md"))
    assert tasks[1].after == (tasks[0].id,)
    assert (tasks[1].pipeline, tasks[1].review) == (PipelineMember("p-ab12", "two"), "editor")
    assert tasks == build_tasks(Pipeline("p", (last, first)), "p-ab12", lambda one, task: f"out/{one.id}.md")


def test_where_others_go_on_inputs_are_optional() -> None:
    """A missing output of an earlier step does not fail the task."""
    tasks = build_tasks(
        Pipeline("p", (step("a"), step("b", "a")), stop_on_failure=False), "p-ab12", lambda one, task: "x"
    )
    assert tasks[1].after_any and tasks[1].inputs[0].optional


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)))
def test_levels_depend_only_on_earlier_levels(needs: list[set[int]]) -> None:
    """Every step is in one level, after the levels of its dependencies."""
    steps = [step(str(n), *(str(m) for m in sorted(needed) if m < n)) for n, needed in enumerate(needs)]
    rows = group_by_level(steps)
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
    """A run stops at the first failure, or at the third in a row with on_failure = continue."""
    rows = [
        member(name, F if end == "f" else C, float(at), stops)
        for at, (name, end) in enumerate(zip("abcdef", ends, strict=False))
    ]
    reason = find_stop_reason([member("z", P, 99.0, stops), *reversed(rows)])
    assert (f"{last}-ab12" in reason) if last else reason == ""


def waiting(after_any: bool = False, *events: Event) -> TaskRow:
    task = Task(
        "Last",
        id=ID,
        after=(FIRST, SECOND),
        after_any=after_any,
        skill="copy",
        pipeline=PipelineMember("r", "last"),
    )
    history = (TaskCreated(task, build_plan("trivial"), 1, "seed"), *events)
    return build_row(fold([Record(ID, n, float(n), event) for n, event in enumerate(history, 1)]))


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
    """The task waits until all have ended, and is blocked only if none was completed."""
    statuses = {FIRST: first, SECOND: second}
    assert waits_for_dependency(waiting(after_any=True), statuses) is held
    assert isinstance(find_dependency_event(waiting(after_any=True), statuses), TaskBlocked) is blocked


def test_a_stopped_run_blocks_what_has_not_begun_and_lets_it_go_again() -> None:
    """The reason is that of the run; without one the task is reopened."""
    done = {FIRST: "completed", SECOND: "completed"}
    stopped = find_dependency_event(waiting(), done, "its pipeline stopped: x failed")
    assert stopped == TaskBlocked(Code.DEPENDENCY_FAILED, "its pipeline stopped: x failed")
    blocked = waiting(False, stopped)
    assert find_dependency_event(blocked, done, "its pipeline stopped: x failed") is None
    assert find_dependency_event(blocked, done) == TaskReopened(by="dependency")


EDITED = Plan(
    (Phase("write", 5, gate=Gate("ai", skill="editor", escalate_to_person=True)),),
    max_phase_retries=1,
    is_document=True,
)
WRITTEN = (CallEnded("write", 1, "complete"), CheckpointMade("write", output="out.md"))


def document(*events: Event, plan: Plan = EDITED) -> State:
    task = Task("Copy", id=ID, skill="copy", output=Output("out.md"))
    history = (TaskCreated(task, plan, 1, "seed"), TaskClaimed("r"), TaskStarted(), *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])


def refused(number: int, signature: str = "") -> GateDecided:
    return GateDecided("write", "ai", "fail", f"no {number}", signature=signature)


def test_a_document_is_written_at_its_checkpoint() -> None:
    """The state has the output path, and the gate has no commit."""
    state = document(*WRITTEN)
    assert state.output == "out.md"
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and wanted.sha is None and wanted.gate.skill == "editor"


def test_when_no_revision_is_left_a_person_decides() -> None:
    """Another rejection does not end the task: a person decides at the gate from then on."""
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
    """STUCK applies only to gates without escalation."""
    plan = replace(EDITED, max_phase_retries=9)
    state = document(*(one for _ in range(3) for one in (*WRITTEN, refused(1, "same"))), plan=plan)
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and wanted.gate == Gate("human")


def test_a_cancel_by_a_pipeline_has_its_reason() -> None:
    """The ending of a task of a stopped pipeline has its reason."""
    ends = decide(document(DecisionRecorded("cancel", "its pipeline stopped")))
    assert isinstance(ends, Finish) and ends.ending.message == "its pipeline stopped"
    assert decide(document(DecisionRecorded("cancel"))).ending.message == "cancelled by a person"  # type: ignore[union-attr]
