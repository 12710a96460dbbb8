"""decide and evolve: the steps of one task."""

from __future__ import annotations

import msgspec
import pytest

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import OutOfOrder, begin, evolve, fold
from ostler.engine.core.step import CallAgent, Checkpoint, Finish, PrepareWorkspace, ReleaseWorkspace
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    Record,
    StepFailed,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskDeferred,
    TaskFailed,
    TaskPaused,
    TaskReleased,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task

ID = TaskId("greet-ab12")
CREATED = TaskCreated(Task("Greet", id=ID), build_plan("small", ("implement",)), 1, "seed")


def after(*events: Event) -> State:
    """The state after task_created and these events, one second apart."""
    return fold([Record(ID, n, float(n), event) for n, event in enumerate((CREATED, *events), 1)])


def ended(verdict: str, **fields: object) -> CallEnded:
    return CallEnded("implement", 1, verdict, **fields)  # type: ignore[arg-type]


CLAIMED, STARTED = TaskClaimed("r1"), TaskStarted("/w", "ostler/greet-ab12", "abc")


def test_a_task_runs_its_steps_in_order_from_created_to_closed() -> None:
    """Each event leads to the next step of prepare, call, checkpoint, finish, release."""
    history: list[tuple[Event, type | None]] = [
        (CLAIMED, PrepareWorkspace),
        (STARTED, CallAgent),
        (ended("complete"), Checkpoint),
        (CheckpointMade("implement", "sha"), Finish),
        (TaskCompleted("sha"), ReleaseWorkspace),
        (WorkspaceReleased(), None),
    ]
    assert decide(after()) is None  # pending: a run must claim it first
    events: list[Event] = []
    for event, wanted in history:
        events.append(event)
        step = decide(after(*events))
        assert (type(step) if step else None) is wanted, event


def test_keys_name_every_counter_and_never_come_back() -> None:
    """Reopening, deferring and a further iteration change the key."""
    first = after(CLAIMED, STARTED)
    second = after(CLAIMED, STARTED, ended("continue"))
    deferred = after(
        CLAIMED,
        STARTED,
        ended("deferred", code=Code.RATE_LIMITED, resumes_at=9.0),
        TaskDeferred(Code.RATE_LIMITED, "later", 9.0),
        CLAIMED,
        STARTED,
    )
    reopened = after(CLAIMED, STARTED, ended("failed", code=Code.TIMEOUT), TaskFailed(Code.TIMEOUT, "slow"))
    reopened = evolve(reopened, Record(ID, reopened.seq + 1, 9.0, TaskReopened()))
    reopened = evolve(reopened, Record(ID, reopened.seq + 1, 9.0, CLAIMED))
    reopened = evolve(reopened, Record(ID, reopened.seq + 1, 9.0, STARTED))
    keys = [step.key for state in (first, second, deferred, reopened) if (step := decide(state))]
    assert keys == [
        "greet-ab12/1.implement.1.1/call",
        "greet-ab12/1.implement.2.1/call",
        "greet-ab12/1.implement.1.2/call",
        "greet-ab12/2.implement.1.1/call",
    ]


@pytest.mark.parametrize(
    ("verdict", "status", "code"),
    [
        ("blocked", TaskStatus.BLOCKED, Code.AGENT_BLOCKED),
        ("failed", TaskStatus.FAILED, Code.TIMEOUT),
        ("deferred", TaskStatus.DEFERRED, Code.RATE_LIMITED),
    ],
)
def test_a_verdict_leads_to_its_ending(verdict: str, status: TaskStatus, code: Code) -> None:
    """Finish has the status, code and message of the call."""
    step = decide(after(CLAIMED, STARTED, ended(verdict, code=code, message="why")))
    assert isinstance(step, Finish)
    assert (step.ending.status, step.ending.code, step.ending.message) == (status, code, "why")


def test_at_the_iteration_limit_the_task_pauses_with_its_code() -> None:
    """After ten calls without completion, a small task ends with ITERATION_LIMIT."""
    state = after(CLAIMED, STARTED, *[ended("continue")] * 10)
    step = decide(state)
    assert isinstance(step, Finish)
    assert step.ending.code is Code.ITERATION_LIMIT
    assert after(CLAIMED, STARTED, *[ended("continue")] * 9).ending is None


def test_cancel_has_precedence_over_other_requests() -> None:
    """A cancel that arrives in any stage before the end leads to Finish(cancelled)."""
    for events in ([], [CLAIMED], [CLAIMED, STARTED], [CLAIMED, STARTED, ended("complete")]):
        step = decide(after(*events, DecisionRecorded("cancel")))
        assert isinstance(step, Finish)
        assert step.ending.status is TaskStatus.CANCELLED


def test_cancel_after_the_end_changes_nothing() -> None:
    """A late cancel is recorded, and the completed task stays completed."""
    state = after(CLAIMED, STARTED, ended("complete"), CheckpointMade("implement", "s"), TaskCompleted("s"))
    late = evolve(state, Record(ID, state.seq + 1, 9.0, DecisionRecorded("cancel")))
    assert (late.status, late.cancel_requested, late.seq) == (TaskStatus.COMPLETED, False, state.seq + 1)


def test_a_claim_after_a_crash_checks_the_workspace_again() -> None:
    """The next run prepares the workspace again, keeps the session, and uses the same key."""
    crashed = after(CLAIMED, STARTED)
    state = evolve(crashed, Record(ID, 4, 4.0, TaskClaimed("r2")))
    assert isinstance(decide(state), PrepareWorkspace)
    state = evolve(state, Record(ID, 5, 5.0, STARTED))
    before, now = decide(crashed), decide(state)
    assert before is not None and now is not None and before.key == now.key


def test_an_interrupted_run_leaves_the_task_pending() -> None:
    """Ctrl-C keeps phases and session; the status is pending with INTERRUPTED."""
    state = after(CLAIMED, STARTED, ended("interrupted", session_id="s1"), TaskReleased("stopped"))
    assert (state.status, state.code, state.session_id) == (TaskStatus.PENDING, Code.INTERRUPTED, "s1")


def test_the_third_failure_is_quarantine() -> None:
    """The statuses are failed, failed, quarantined."""
    events: list[Event] = []
    seen: list[str] = []
    for _ in range(3):
        events += [CLAIMED, STARTED, ended("failed", code=Code.TIMEOUT), TaskFailed(Code.TIMEOUT, "slow")]
        seen.append(after(*events).status)
        events.append(TaskReopened())
    assert seen == ["failed", "failed", "quarantined"]


def test_a_step_that_fails_ends_the_task_with_its_code() -> None:
    """If a worktree cannot be created, the task fails."""
    step = decide(after(CLAIMED, StepFailed(Code.BRANCH_EXISTS, "taken")))
    assert isinstance(step, Finish)
    assert step.ending.code is Code.BRANCH_EXISTS


def test_reopening_starts_the_phases_again_and_keeps_the_history() -> None:
    """After a retry the counters are reset, the round is incremented, and the failures are kept."""
    state = after(
        CLAIMED, STARTED, ended("failed", code=Code.TIMEOUT), TaskFailed(Code.TIMEOUT, "slow"), TaskReopened()
    )
    assert (state.status, state.stage, state.round, state.iteration, state.failures) == (
        TaskStatus.PENDING,
        Stage.NEW,
        2,
        1,
        1,
    )
    assert (state.code, state.session_id) == (None, "")


def test_reopening_a_running_or_completed_task_changes_nothing() -> None:
    """External events are valid in any stage, also without effect."""
    running = after(CLAIMED, STARTED)
    same = evolve(running, Record(ID, 4, 4.0, TaskReopened()))
    assert (same.round, same.status) == (1, TaskStatus.IN_PROGRESS)


@pytest.mark.parametrize("seq", [1, 2, 4, 99])
def test_a_record_that_is_not_the_next_is_refused(seq: int) -> None:
    """evolve rejects gaps and repetitions."""
    with pytest.raises(OutOfOrder):
        evolve(after(CLAIMED), Record(ID, seq, 1.0, STARTED))


def test_records_that_no_decision_could_lead_to_are_refused() -> None:
    """A second end, a second creation and another first event are rejected."""
    done = after(CLAIMED, TaskCancelled())
    for event in (TaskCompleted(), TaskFailed(Code.TIMEOUT, ""), TaskPaused(), CREATED):
        with pytest.raises(OutOfOrder):
            evolve(done, Record(ID, done.seq + 1, 9.0, event))
    with pytest.raises(OutOfOrder):
        begin(Record(ID, 1, 1.0, CLAIMED))


def test_an_event_of_a_newer_version_is_kept_and_folded_as_nothing() -> None:
    """An unknown event increments seq and changes nothing else."""
    before = after(CLAIMED, STARTED)
    state = evolve(before, Record(ID, 4, 4.0, msgspec.Raw(b'{"type":"from_the_future"}')))
    assert (state.seq, state.stage, state.status) == (4, before.stage, before.status)


def test_the_state_stays_under_a_kilobyte() -> None:
    """The limit also holds with a long title, a worktree, a message and a session."""
    long = TaskCreated(Task("x" * 120, id=ID), build_plan("small", ("implement",)), 1, "0" * 32)
    records = [Record(ID, 1, 1.0, long), Record(ID, 2, 2.0, CLAIMED), Record(ID, 3, 3.0, STARTED)]
    records.append(
        Record(ID, 4, 4.0, ended("continue", session_id="0" * 36, answer="transcripts/implement-001.md"))
    )
    assert len(msgspec.json.encode(fold(records))) < 1536
