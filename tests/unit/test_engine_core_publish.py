"""Publishing in the core: unchecked commits return to the gates, conflicts to an agent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.step import CallAgent, CheckGate, Finish, PrepareWorkspace, Publish
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    GateWaiting,
    Published,
    Rebased,
    Record,
    StepFailed,
    TaskBlocked,
    TaskClaimed,
    TaskCreated,
    TaskFailed,
    TaskReopened,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import NO_GATE, Gate, build_plan
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task

ID = TaskId("greet-ab12")
CLAIMED, STARTED = TaskClaimed("r1"), TaskStarted("/w", "ostler/greet-ab12", "abc", "main")
IMPLEMENTED = (CallEnded("implement", 1, "complete"), CheckpointMade("implement", "one"))
TESTED = (CallEnded("test", 1, "complete"), CheckpointMade("test", "two"))
PASSES = GateDecided("test", "command", "pass", "", "two")
VALIDATED = (CallEnded("validate", 1, "complete"), CheckpointMade("validate", "three"))
READY = (*IMPLEMENTED, *TESTED, PASSES, *VALIDATED)
MOVED = Rebased("moved", "onto")
PERSON, COMMAND = Gate("human"), Gate("command")
APPROVED = (GateWaiting("merge", "three"), DecisionRecorded("approve"), CLAIMED)
CONFLICT = StepFailed(Code.MERGE_CONFLICT, "both changed calc.py", ("calc.py",), "theirs")


def after(*events: Event, test: Gate = COMMAND, merge: Gate = NO_GATE, reapprove: bool = False) -> State:
    """The state of a task with publish = pr, after these events."""
    plan = build_plan("small", ("implement", "test", "validate"))
    phases = [replace(one, gate=test) if one.id == "test" else one for one in plan.phases]
    plan = replace(plan, phases=tuple(phases), publish="pr", merge_gate=merge, reapprove=reapprove)
    history = (TaskCreated(Task("Greet", id=ID), plan, 1, "seed"), CLAIMED, STARTED, *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])


def through(*trees: str, plan: tuple[str, ...] = ("implement", "test", "docs")) -> list[Event]:
    """Events that complete each phase with this tree; the gate of test passes."""
    reported: list[Event] = []
    for number, (phase, tree) in enumerate(zip(plan, trees, strict=True)):
        reported += [CallEnded(phase, 1, "complete"), CheckpointMade(phase, f"c{number}", tree)]
        reported += [GateDecided("test", "command", "pass", "", f"c{number}")] if phase == "test" else []
    return reported


def documented(*events: Event) -> State:
    plan = build_plan("small", ("implement", "test", "docs"))
    phases = [replace(one, gate=COMMAND) if one.id == "test" else one for one in plan.phases]
    history = (
        TaskCreated(Task("Greet", id=ID), replace(plan, phases=tuple(phases)), 1, "s"),
        CLAIMED,
        STARTED,
        *events,
    )
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])


def test_files_that_changed_after_a_gate_are_shown_to_it_again() -> None:
    """If the last phase changed the files, the gate of test checks the last commit."""
    state = documented(*through("t1", "t1", "t2"))
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and (wanted.phase, wanted.sha) == ("test", "c2")
    passed = then(state, GateDecided("test", "command", "pass", "", "c2"))
    done = decide(passed)
    assert isinstance(done, Finish) and done.ending.status is TaskStatus.COMPLETED


def test_the_same_files_in_another_commit_are_not_judged_twice() -> None:
    """The verdict is kept if the files are the same, or the tree is unknown."""
    for trees in (("t1", "t2", "t2"), ("", "", ""), ("t1", "", "t2")):
        done = decide(documented(*through(*trees)))
        assert isinstance(done, Finish) and done.ending.status is TaskStatus.COMPLETED, trees


def test_work_that_a_later_phase_broke_goes_back() -> None:
    """If the gate rejects the last commit, all phases from implement on are repeated."""
    state = documented(*through("t1", "t1", "t2"))
    back = then(state, GateDecided("test", "command", "fail", "broken", "c2"))
    wanted = decide(back)
    assert isinstance(wanted, CallAgent) and wanted.phase == "implement"
    assert [one.status for one in back.phases] == ["pending", "pending", "pending"]


def then(state: State, *events: Event) -> State:
    for event in events:
        state = evolve(state, Record(ID, state.seq + 1, 1.0, event))
    return state


def judged(verdict: str, phase: str = "test") -> GateDecided:
    return GateDecided(phase, "command", verdict, "why", "moved")  # type: ignore[arg-type]


def test_a_rebased_commit_is_shown_to_the_gates_of_commits() -> None:
    """The command gate of a completed phase checks the new commit before it is published."""
    first = decide(after(*READY))
    asked = decide(after(*READY, MOVED))
    assert isinstance(first, Publish) and first.checked_commit == "three"
    assert isinstance(asked, CheckGate)
    assert (asked.phase, asked.gate, asked.sha) == ("test", COMMAND, "moved")
    again = decide(after(*READY, MOVED, judged("pass")))
    assert isinstance(again, Publish) and again.checked_commit == "moved" and again.key != first.key
    assert after(*READY, MOVED).base == "onto"


def test_nothing_is_asked_where_every_gate_passes_by_itself() -> None:
    """Publish may publish any commit, so that a rebase needs no further check."""
    step = decide(after(*READY, test=Gate()))
    assert isinstance(step, Publish) and step.checked_commit is None


def test_phases_stay_completed_while_their_gates_run_again() -> None:
    """A phase stays completed while its gate is checked again, and has the new commit."""
    state = after(*READY, MOVED, judged("pass"))
    assert [one.status for one in state.phases] == ["completed"] * 3
    assert state.phases[1].gate and state.phases[1].gate.sha == "moved"


def test_a_rebased_commit_that_fails_goes_back_to_work() -> None:
    """All phases from implement on are repeated, including those after the failed one."""
    state = after(*READY, MOVED, judged("fail"))
    step = decide(state)
    assert isinstance(step, CallAgent) and step.phase == "implement"
    assert [one.status for one in state.phases] == ["pending"] * 3
    assert (state.retry_of, state.phases[1].retries) == ("test", 1)
    mended = then(state, *IMPLEMENTED, *TESTED, PASSES, *VALIDATED)
    assert isinstance(decide(mended), Publish)


def test_a_gate_that_cannot_run_again_waits_for_a_person() -> None:
    """The task is blocked; after a resume the gate checks the same commit, which is then published."""
    stopped = after(*READY, MOVED, judged("could_not_run"), TaskBlocked(Code.GATE_UNRUNNABLE, "why"))
    again = decide(then(stopped, DecisionRecorded("resume"), CLAIMED))
    assert isinstance(again, CheckGate) and again.sha == "moved"
    overruled = then(stopped, DecisionRecorded("approve", "I looked"), CLAIMED)
    assert isinstance(decide(overruled), Publish)


@pytest.mark.parametrize(
    ("merge", "reapprove", "clean", "wanted"),
    [
        (PERSON, False, True, Publish),
        (PERSON, True, True, CheckGate),
        (PERSON, False, False, CheckGate),
    ],
)
def test_a_persons_yes_stays_valid_for_a_mere_rebase(
    merge: Gate, reapprove: bool, clean: bool, wanted: type
) -> None:
    """This does not hold for strict profiles, or if the rebase was not clean."""
    moved = (Rebased("moved", "onto", clean=clean), judged("pass"))
    step = decide(after(*READY, *APPROVED, *moved, merge=merge, reapprove=reapprove))
    assert isinstance(step, wanted)
    assert not isinstance(step, CheckGate) or (step.phase, step.sha) == ("merge", "moved")


def test_a_command_before_publishing_is_asked_again() -> None:
    """The merge gate checks the commit that is published."""
    printed = GateDecided("merge", "command", "pass", "", "three")
    step = decide(after(*READY, printed, MOVED, judged("pass"), merge=COMMAND))
    assert isinstance(step, CheckGate) and (step.phase, step.sha) == ("merge", "moved")


def test_a_gate_that_a_person_overruled_is_not_asked_again() -> None:
    """A person's approval after a rejection also covers the rebased commit."""
    no = GateDecided("test", "command", "fail", "flaky", "two")
    plan_out = replace(after().plan, max_phase_retries=0)
    state = replace(after(*IMPLEMENTED, *TESTED), plan=plan_out)
    state = then(state, no, TaskBlocked(Code.GATE_REJECTED, "flaky"), DecisionRecorded("approve"), CLAIMED)
    state = then(state, STARTED, *VALIDATED)
    assert isinstance(decide(state), Publish)
    assert isinstance(decide(then(state, MOVED)), Publish)


def test_a_target_that_keeps_moving_fails_after_three_rebases() -> None:
    """The fourth rebase fails; a retry resets the count and checks the gates."""
    moves = [event for n in range(3) for event in (Rebased(f"m{n}", "onto"), judged("pass"))]
    assert isinstance(decide(after(*READY, *moves)), Publish)
    state = after(*READY, *moves, Rebased("m3", "onto"))
    step = decide(state)
    assert isinstance(step, Finish) and step.ending.code is Code.PUBLISH_FAILED
    assert "main moved" in step.ending.message and f"ostler retry {ID}" in step.ending.message
    retried = then(state, TaskFailed(Code.PUBLISH_FAILED, "x"), TaskReopened(), CLAIMED, STARTED)
    asked = decide(retried)
    assert isinstance(asked, CheckGate) and (asked.phase, asked.sha) == ("test", "m3")


def test_feedback_after_a_conflict_goes_to_an_agent() -> None:
    """The work is repeated from implement, and the target is merged into the workspace."""
    state = after(*READY, CONFLICT, TaskBlocked(Code.MERGE_CONFLICT, "both changed calc.py"))
    reported = then(state, DecisionRecorded("resume", "keep both"))
    assert (reported.status, reported.current.id, reported.feedback_seq) == (
        TaskStatus.PENDING,
        "implement",
        state.seq + 1,
    )
    assert [one.status for one in reported.phases] == ["pending"] * 3
    claimed = then(reported, CLAIMED)
    assert isinstance(decide(claimed), PrepareWorkspace) and claimed.conflict_commit == "theirs"
    ready = then(claimed, STARTED)
    assert isinstance(decide(ready), CallAgent) and ready.conflict_commit is None


@pytest.mark.parametrize("word", [DecisionRecorded("resume"), TaskReopened()])
def test_without_feedback_a_conflict_is_only_tried_again(word: Event) -> None:
    """Without feedback, publishing is repeated."""
    state = after(*READY, CONFLICT, TaskBlocked(Code.MERGE_CONFLICT, "both changed calc.py"), word, CLAIMED)
    state = then(state, STARTED) if state.stage is Stage.NEW else state
    assert isinstance(decide(state), Publish) and state.conflict_commit is None


def test_a_task_of_an_older_ostler_is_published_under_its_old_key() -> None:
    """A task in progress during an upgrade is published exactly once."""
    state = after(*READY)
    key = f"{ID}/1.validate.2.1/publish"
    done = evolve(state, Record(ID, state.seq + 1, 1.0, Published("pr", "url", "three"), key))
    assert done.stage is Stage.DONE
