"""Publishing in the core: a commit that no gate saw goes back to the gates, a conflict back to an agent."""

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
from ostler.model.plan import OPEN, Gate, plan_for
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


def after(*events: Event, test: Gate = COMMAND, merge: Gate = OPEN, reapprove: bool = False) -> State:
    """The state of a task that is to become a pull request, after these events."""
    plan = plan_for("small", ("implement", "test", "validate"))
    phases = [replace(one, gate=test) if one.id == "test" else one for one in plan.phases]
    plan = replace(plan, phases=tuple(phases), publish="pr", merge_gate=merge, reapprove=reapprove)
    story = (TaskCreated(Task("Greet", id=ID), plan, 1, "seed"), CLAIMED, STARTED, *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(story, 1)])


def through(*trees: str, plan: tuple[str, ...] = ("implement", "test", "docs")) -> list[Event]:
    """Each phase is completed, and leaves the files of this name; the test's gate passes."""
    told: list[Event] = []
    for number, (phase, tree) in enumerate(zip(plan, trees, strict=True)):
        told += [CallEnded(phase, 1, "complete"), CheckpointMade(phase, f"c{number}", tree)]
        told += [GateDecided("test", "command", "pass", "", f"c{number}")] if phase == "test" else []
    return told


def documented(*events: Event) -> State:
    plan = plan_for("small", ("implement", "test", "docs"))
    phases = [replace(one, gate=COMMAND) if one.id == "test" else one for one in plan.phases]
    story = (
        TaskCreated(Task("Greet", id=ID), replace(plan, phases=tuple(phases)), 1, "s"),
        CLAIMED,
        STARTED,
        *events,
    )
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(story, 1)])


def test_files_that_changed_after_a_gate_are_shown_to_it_again() -> None:
    """The last phase left other files than the test saw: it is asked about the last commit."""
    state = documented(*through("t1", "t1", "t2"))
    wanted = decide(state)
    assert isinstance(wanted, CheckGate) and (wanted.phase, wanted.sha) == ("test", "c2")
    passed = then(state, GateDecided("test", "command", "pass", "", "c2"))
    done = decide(passed)
    assert isinstance(done, Finish) and done.ending.status is TaskStatus.COMPLETED


def test_the_same_files_in_another_commit_are_not_judged_twice() -> None:
    """A phase that changes nothing leaves the verdict standing; so does a commit of an older version."""
    for trees in (("t1", "t2", "t2"), ("", "", ""), ("t1", "", "t2")):
        done = decide(documented(*through(*trees)))
        assert isinstance(done, Finish) and done.ending.status is TaskStatus.COMPLETED, trees


def test_work_that_a_later_phase_broke_goes_back() -> None:
    """The gate says no to the last commit: the work is done again from implement on, docs too."""
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
    """The command of a completed phase is asked about the new commit, and only then is it published."""
    first = decide(after(*READY))
    asked = decide(after(*READY, MOVED))
    assert isinstance(first, Publish) and first.judged == "three"
    assert isinstance(asked, CheckGate)
    assert (asked.phase, asked.gate, asked.sha) == ("test", COMMAND, "moved")
    again = decide(after(*READY, MOVED, judged("pass")))
    assert isinstance(again, Publish) and again.judged == "moved" and again.key != first.key
    assert after(*READY, MOVED).base == "onto"


def test_nothing_is_asked_where_every_gate_passes_by_itself() -> None:
    """Publish is told that any commit will do, so that it is not sent round for nothing."""
    step = decide(after(*READY, test=Gate()))
    assert isinstance(step, Publish) and step.judged is None


def test_what_was_said_of_phases_stays_said() -> None:
    """Asked again, a phase is completed all the while, and knows the commit of the last verdict."""
    state = after(*READY, MOVED, judged("pass"))
    assert [one.status for one in state.phases] == ["completed"] * 3
    assert state.phases[1].gate and state.phases[1].gate.sha == "moved"


def test_a_rebased_commit_that_fails_goes_back_to_work() -> None:
    """All phases from implement on are done again, those after the failed one too."""
    state = after(*READY, MOVED, judged("fail"))
    step = decide(state)
    assert isinstance(step, CallAgent) and step.phase == "implement"
    assert [one.status for one in state.phases] == ["pending"] * 3
    assert (state.retry_of, state.phases[1].retries) == ("test", 1)
    mended = then(state, *IMPLEMENTED, *TESTED, PASSES, *VALIDATED)
    assert isinstance(decide(mended), Publish)


def test_a_gate_that_cannot_run_again_waits_for_a_person() -> None:
    """Blocked; resumed it is asked about the same commit, and a yes publishes it."""
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
    """Unless the profile is strict, or somebody changed more than where the work stands."""
    moved = (Rebased("moved", "onto", clean=clean), judged("pass"))
    step = decide(after(*READY, *APPROVED, *moved, merge=merge, reapprove=reapprove))
    assert isinstance(step, wanted)
    assert not isinstance(step, CheckGate) or (step.phase, step.sha) == ("merge", "moved")


def test_a_command_before_publishing_is_asked_again() -> None:
    """The merge gate judges the commit that is published, whoever moved it."""
    said = GateDecided("merge", "command", "pass", "", "three")
    step = decide(after(*READY, said, MOVED, judged("pass"), merge=COMMAND))
    assert isinstance(step, CheckGate) and (step.phase, step.sha) == ("merge", "moved")


def test_a_gate_that_a_person_overruled_is_not_asked_again() -> None:
    """It said no and a person said yes; moving the work does not take that back."""
    no = GateDecided("test", "command", "fail", "flaky", "two")
    plan_out = replace(after().plan, max_phase_retries=0)
    state = replace(after(*IMPLEMENTED, *TESTED), plan=plan_out)
    state = then(state, no, TaskBlocked(Code.GATE_REJECTED, "flaky"), DecisionRecorded("approve"), CLAIMED)
    state = then(state, STARTED, *VALIDATED)
    assert isinstance(decide(state), Publish)
    assert isinstance(decide(then(state, MOVED)), Publish)


def test_a_target_that_never_rests_is_left_after_three_rounds() -> None:
    """The fourth time it is a failure that says so; a retry begins to count again, with the gates."""
    moves = [event for n in range(3) for event in (Rebased(f"m{n}", "onto"), judged("pass"))]
    assert isinstance(decide(after(*READY, *moves)), Publish)
    state = after(*READY, *moves, Rebased("m3", "onto"))
    step = decide(state)
    assert isinstance(step, Finish) and step.ending.code is Code.PUBLISH_FAILED
    assert "main moved" in step.ending.message and f"ostler retry {ID}" in step.ending.message
    retried = then(state, TaskFailed(Code.PUBLISH_FAILED, "x"), TaskReopened(), CLAIMED, STARTED)
    asked = decide(retried)
    assert isinstance(asked, CheckGate) and (asked.phase, asked.sha) == ("test", "m3")


def test_a_word_after_a_conflict_goes_to_an_agent() -> None:
    """The work goes back to implement, and the workspace takes in what it did not fit."""
    state = after(*READY, CONFLICT, TaskBlocked(Code.MERGE_CONFLICT, "both changed calc.py"))
    told = then(state, DecisionRecorded("resume", "keep both"))
    assert (told.status, told.current.id, told.word) == (TaskStatus.PENDING, "implement", state.seq + 1)
    assert [one.status for one in told.phases] == ["pending"] * 3
    claimed = then(told, CLAIMED)
    assert isinstance(decide(claimed), PrepareWorkspace) and claimed.onto == "theirs"
    ready = then(claimed, STARTED)
    assert isinstance(decide(ready), CallAgent) and ready.onto is None


@pytest.mark.parametrize("word", [DecisionRecorded("resume"), TaskReopened()])
def test_without_a_word_a_conflict_is_only_tried_again(word: Event) -> None:
    """Somebody has solved it, in the worktree or on the target."""
    state = after(*READY, CONFLICT, TaskBlocked(Code.MERGE_CONFLICT, "both changed calc.py"), word, CLAIMED)
    state = then(state, STARTED) if state.stage is Stage.NEW else state
    assert isinstance(decide(state), Publish) and state.onto is None


def test_a_task_of_an_older_ostler_is_published_under_its_old_key() -> None:
    """What was under way when Ostler was renewed is neither lost nor done twice."""
    state = after(*READY)
    key = f"{ID}/1.validate.2.1/publish"
    done = evolve(state, Record(ID, state.seq + 1, 1.0, Published("pr", "url", "three"), key))
    assert done.stage is Stage.DONE
