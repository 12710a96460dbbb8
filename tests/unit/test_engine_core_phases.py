"""Phases, gates and decisions in the core: regression tests of races and repeats."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve, fold
from ostler.engine.core.moves import RETURN_RULES
from ostler.engine.core.step import CallAgent, CheckGate, Checkpoint, Finish
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    Record,
    TaskBlocked,
    TaskClaimed,
    TaskCreated,
    TaskPaused,
    TaskReleased,
    TaskStarted,
)
from ostler.model.ids import TaskId
from ostler.model.plan import Gate, build_plan
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task

ID = TaskId("greet-ab12")
CLAIMED, STARTED = TaskClaimed("r1"), TaskStarted("/w", "ostler/greet-ab12", "abc")
IMPLEMENTED = (CallEnded("implement", 1, "complete"), CheckpointMade("implement", "one"))
TESTED = (CallEnded("test", 1, "complete"), CheckpointMade("test", "two"))
FAILS = GateDecided("test", "command", "fail", "1 failed", "two", signature="same")
PASSES = GateDecided("test", "command", "pass", "", "two")
CANNOT = GateDecided("test", "command", "could_not_run", "no such program", "two")


def after(*events: Event, retries: int = 5) -> State:
    """The state of a task with a command gate on test, after these events."""
    plan = build_plan("small", ("implement", "test", "validate"))
    phases = [replace(one, gate=Gate("command")) if one.id == "test" else one for one in plan.phases]
    plan = replace(plan, phases=tuple(phases), max_phase_retries=retries)
    history = (TaskCreated(Task("Greet", id=ID), plan, 1, "seed"), CLAIMED, STARTED, *events)
    return fold([Record(ID, number, float(number), event) for number, event in enumerate(history, 1)])


def answered(state: State, step: str, *events: Event) -> State:
    """The state after records with the same step key."""
    for event in events:
        state = evolve(state, Record(ID, state.seq + 1, 1.0, event, step))
    return state


def key_of(state: State) -> str:
    step = decide(state)
    assert step
    return step.key


def status_of(state: State, phase: str) -> str:
    return next(one.status for one in state.phases if one.id == phase)


def test_what_a_call_asked_for_outlives_a_stopped_run() -> None:
    """If the run stops before a block is recorded, the next run records it without a call."""
    blocked = CallEnded("implement", 1, "blocked", Code.AGENT_BLOCKED, "no key")
    step = decide(after(blocked, TaskReleased("stopped"), CLAIMED))
    assert isinstance(step, Finish) and step.ending.code is Code.AGENT_BLOCKED


def test_a_skip_is_not_undone_by_the_answer_of_the_call() -> None:
    """The agent's result `continue` is ignored after a person skipped the phase."""
    called = after()
    key = key_of(called)
    skipped = answered(called, "", DecisionRecorded("skip", "by hand", "implement"))
    late = answered(skipped, key, CallEnded("implement", 1, "continue"))
    assert status_of(late, "implement") == "skipped"
    assert isinstance(decide(late), Checkpoint)


def test_a_skip_at_the_gate_counts_no_second_call() -> None:
    """The commit of what was left is not the commit of another call."""
    waiting = after(*IMPLEMENTED, *TESTED, CANNOT, TaskBlocked(Code.GATE_UNRUNNABLE, "no such program"))
    skipped = answered(waiting, "", DecisionRecorded("skip", "by hand", "test"), CLAIMED)
    assert isinstance(decide(skipped), Checkpoint)
    left = answered(skipped, key_of(skipped), CheckpointMade("test", "three"))
    (test,) = (one for one in left.phases if one.id == "test")
    assert (test.status, test.iterations, test.commit) == ("skipped", 1, "three")


def test_a_pause_that_was_taken_back_does_not_pause() -> None:
    """A resume arrives before the pause is recorded."""
    pausing = answered(after(), "", DecisionRecorded("pause"))
    key = key_of(pausing)
    resumed = answered(pausing, "", DecisionRecorded("resume"))
    late = answered(resumed, key, TaskPaused(None, "paused by a person"))
    assert late.status is TaskStatus.IN_PROGRESS
    assert isinstance(decide(late), CallAgent)


def test_the_same_failure_counts_over_the_work_in_between() -> None:
    """C102: implement passes each time, and the gate of test fails with the same error each time."""
    once = (*IMPLEMENTED, *TESTED, FAILS)
    step = decide(after(*once, *once, *once))
    assert isinstance(step, Finish) and step.ending.code is Code.STUCK


def test_a_skip_of_the_failing_phase_drops_its_feedback() -> None:
    """Its failure is not included in the prompts of later phases."""
    back = after(*IMPLEMENTED, *TESTED, FAILS)
    assert back.retry_of == "test" and back.feedback_seq
    skipped = answered(back, "", DecisionRecorded("skip", "flaky", "test"))
    assert (skipped.retry_of, skipped.feedback_seq, skipped.signatures) == ("", 0, ())


def test_a_skipped_phase_stays_skipped_when_the_work_goes_back() -> None:
    """A retry from validate to implement keeps test skipped."""
    skips = DecisionRecorded("skip", "no tests here", "test")
    finds = CallEnded("validate", 1, "blocked", Code.AGENT_BLOCKED, "R1 does not hold")
    back = after(skips, *IMPLEMENTED, finds)
    assert (back.current.id, back.retry_of) == ("implement", "validate")
    assert status_of(back, "test") == "skipped"


def test_a_gate_that_could_not_run_is_asked_again_by_resume() -> None:
    """Without feedback only the gate is checked again; with feedback the work is repeated."""
    stopped = after(*IMPLEMENTED, *TESTED, CANNOT, TaskBlocked(Code.GATE_UNRUNNABLE, "no such program"))
    silent = answered(stopped, "", DecisionRecorded("resume"), CLAIMED)
    reported = answered(stopped, "", DecisionRecorded("resume", "use make"), CLAIMED)
    assert isinstance(decide(silent), CheckGate)
    assert (reported.stage, reported.current.id, reported.feedback_seq) == (
        Stage.NEW,
        "implement",
        stopped.seq + 1,
    )


def test_feedback_about_a_blocked_check_goes_to_the_work_that_it_checks() -> None:
    """Without text, or with a question of the agent, the phase itself continues."""
    finds = CallEnded("validate", 1, "blocked", Code.AGENT_BLOCKED, "R1 does not hold")
    asks = CallEnded("validate", 1, "blocked", Code.NEEDS_INPUT, "Which port?")
    done, says = (*IMPLEMENTED, *TESTED, PASSES), DecisionRecorded("resume", "use 8080")
    found = after(*done, finds, TaskBlocked(Code.AGENT_BLOCKED, "R1"), retries=0)
    asked = after(*done, asks, TaskBlocked(Code.NEEDS_INPUT, "Which port?"), retries=0)
    old, found, asked = found, replace(found, rules=RETURN_RULES), replace(asked, rules=RETURN_RULES)
    back = answered(found, "", says)
    assert (back.current.id, back.retry_of, back.feedback_seq) == ("implement", "validate", found.seq + 1)
    assert answered(found, "", DecisionRecorded("resume")).current.id == "validate"
    assert answered(asked, "", says).current.id == "validate"
    assert answered(old, "", says).current.id == "validate"


def test_a_refusal_that_is_resumed_points_to_the_persons_record() -> None:
    """The next prompt uses that record and the last failure, also without text."""
    refused = after(*IMPLEMENTED, *TESTED, FAILS, TaskBlocked(Code.GATE_REJECTED, "1 failed"), retries=0)
    on = answered(refused, "", DecisionRecorded("resume"))
    assert (on.status, on.current.id, on.retry_of) == (TaskStatus.PENDING, "implement", "test")
    assert on.feedback_seq == refused.seq + 1
