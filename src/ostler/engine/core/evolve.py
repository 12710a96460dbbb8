"""What a record makes of a state. Every record is kept; one that changes nothing only counts."""

from __future__ import annotations

from typing import assert_never

from msgspec import Raw
from msgspec.structs import replace

from ostler.engine.core.decide import decide, wanted_by_stage
from ostler.engine.core.moves import (
    advance,
    after_checkpoint,
    decided,
    in_phase,
    may_retry,
    send_back,
    with_phase,
)
from ostler.engine.core.publishing import published, rebased, step_failed
from ostler.engine.core.step import MERGE
from ostler.engine.core.words import heard, rewound
from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    GateDecided,
    GateWaiting,
    Paying,
    Published,
    Rebased,
    Record,
    StepFailed,
    TaskBlocked,
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
from ostler.model.state import Ending, GateState, PhaseState, Stage, State
from ostler.model.status import REOPENABLE, TaskStatus, may_become
from ostler.model.usage import add_cost

_FAILURES_BEFORE_QUARANTINE = 3


class OutOfOrder(Exception):
    """A record that is not the next of its task, or that no decision could have led to."""


def begin(record: Record) -> State:
    """The state after a task's first record."""
    created = record.event
    if record.seq != 1 or not isinstance(created, TaskCreated):
        raise OutOfOrder(f"{record.task}: the first record must be task_created, with seq 1")
    task = created.task
    return State(
        task=record.task,
        seq=1,
        rules=created.rules,
        title=task.title,
        weight=task.weight,
        priority=task.priority,
        created_at=record.at,
        updated_at=record.at,
        plan=created.plan,
        phases=tuple(PhaseState(phase.id) for phase in created.plan.phases),
        session_seed=created.session_seed,
        after=task.after,
        not_before=task.not_before,
        after_any=task.after_any,
        pipeline=task.pipeline,
    )


def evolve(state: State, record: Record) -> State:
    """The state after one more record."""
    if record.seq != state.seq + 1 or record.task != state.task:
        raise OutOfOrder(f"{record.task}: record {record.seq} does not follow {state.task} {state.seq}")
    return replace(_fold(state, record), seq=record.seq, updated_at=record.at)


def fold(records: list[Record]) -> State:
    """The state after all of a task's records."""
    state = begin(records[0])
    for record in records[1:]:
        state = evolve(state, record)
    return state


def _fold(state: State, record: Record) -> State:
    event = record.event
    if isinstance(event, Paying):
        state = _paid(state, event)
    if not isinstance(event, Raw) and _is_stale(state, record, event):
        return state
    match event:
        case TaskClaimed():
            return _claimed(state)
        case TaskStarted():
            found = replace(state, worktree=event.worktree, branch=event.branch, base=event.base)
            found = replace(found, target=event.target or state.target)
            found = replace(found, remotes=state.remotes if event.remotes is None else event.remotes)
            return _prepared(replace(found, reset_to=None, onto=None))
        case CallEnded():
            return _called(state, event)
        case CheckpointMade():
            return _checkpointed(state, event)
        case GateWaiting():
            return _waits(state, event)
        case GateDecided():
            return decided(state, event)
        case Published():
            return published(state, event)
        case Rebased():
            return rebased(state, event)
        case StepFailed():
            return step_failed(state, event)
        case TaskReleased():
            resting = _rests(state, TaskStatus.PENDING, Code.INTERRUPTED, event.message)
            return replace(resting, ending=state.ending)  # what the last call asked for is still to be done
        case TaskDeferred():
            resting = _rests(state, TaskStatus.DEFERRED, event.code, event.message)
            return replace(resting, resumes_at=event.resumes_at, call=state.call + 1)
        case TaskPaused():
            return replace(_rests(state, TaskStatus.PAUSED, event.code, event.message), pause=False)
        case TaskBlocked():
            return _rests(state, TaskStatus.BLOCKED, event.code, event.message)
        case TaskCompleted() | TaskFailed() | TaskCancelled():
            return _ended(state, event)
        case WorkspaceReleased():
            return replace(state, stage=Stage.CLOSED, worktree=state.worktree if event.kept else None)
        case TaskReopened():
            return _reopened(state, event)
        case DecisionRecorded():
            return heard(state, event)
        case TaskCreated():
            raise OutOfOrder(f"{state.task}: created twice")
        case Raw():
            return state
        case _:
            assert_never(event)


def _is_stale(state: State, record: Record, event: Event) -> bool:
    """Whether it answers a step that nobody wants any more, as a person has said something since."""
    if record.step:
        return record.step not in (step.key for step in (decide(state), wanted_by_stage(state)) if step)
    if isinstance(event, CallEnded | CheckpointMade | GateWaiting | GateDecided):
        return event.phase not in (state.current.id, MERGE)
    return False


def _claimed(state: State) -> State:
    stage = Stage.NEW if state.stage is Stage.READY else state.stage
    claimed = replace(state, claims=state.claims + 1, stage=stage, code=None, message="", resumes_at=None)
    return claimed if state.status is TaskStatus.IN_PROGRESS else _becomes(claimed, TaskStatus.IN_PROGRESS)


def _prepared(state: State) -> State:
    """The workspace is there: on with the phase, or with what is left after all of them."""
    return (
        advance(state)
        if state.phases[state.phase].status in ("completed", "skipped")
        else replace(state, stage=Stage.READY)
    )


def _paid(state: State, event: Paying) -> State:
    """What attempts cost is counted whatever came of them."""
    cost = add_cost(state.cost_usd, event.cost_usd)
    return replace(state, usage=state.usage + event.usage, cost_usd=cost)


def _called(state: State, event: CallEnded) -> State:
    heard = replace(
        state,
        session_id=event.session_id,
        answer=event.answer or state.answer,
        warnings=(*state.warnings, *(w for w in event.warnings if w not in state.warnings)),
    )
    match event.verdict:
        case "complete" | "review":
            review = event.verdict == "review"
            return _completes(replace(_answered(heard), asks_review=review))
        case "continue":
            return _goes_on(in_phase(_answered(heard), "running", 1), event)
        case "blocked":
            return _blocked(_answered(heard), event)
        case "failed":
            return _will_end(heard, event, TaskStatus.FAILED, Code.UNKNOWN)
        case "deferred":
            return _will_end(heard, event, TaskStatus.DEFERRED, Code.RATE_LIMITED)
        case "paused":
            return _will_end(heard, event, TaskStatus.PAUSED, None)
        case "interrupted":
            return heard
        case _:
            assert_never(event.verdict)


def _blocked(state: State, event: CallEnded) -> State:
    """A phase that checks the work of another sends it back; any other one needs a person."""
    if state.current.retry_to and event.code is Code.AGENT_BLOCKED and may_retry(state):
        return send_back(in_phase(state, "failed", 1), state.seq + 1)
    return _will_end(state, event, TaskStatus.BLOCKED, Code.AGENT_BLOCKED)


def _answered(state: State) -> State:
    """What was to be said to the agent has been said; the story of a failure stays until it is mended."""
    return state if state.retry_of else replace(state, word=0)


def _completes(state: State) -> State:
    """On to the commit, or straight to the gate where the phase's work is committed with a later one."""
    last = all(one.status in ("completed", "skipped") for one in state.phases[state.phase + 1 :])
    commits = state.current.checkpoint or last or state.current.gate.type in ("command", "ai")
    if commits:
        return replace(in_phase(state, "running"), stage=Stage.ANSWERED)
    return after_checkpoint(in_phase(state, "running", 1))


def _goes_on(state: State, event: CallEnded) -> State:
    used = state.phases[state.phase].iterations
    if used < state.max_iterations:
        stage = Stage.TURNED if state.current.strategy.checkpoint_each_iteration else Stage.READY
        return replace(state, call=1, stage=stage)
    message = f"{event.phase} used all {used} iterations without saying that it is complete"
    return replace(state, ending=Ending(TaskStatus.PAUSED, Code.ITERATION_LIMIT, message))


def _will_end(state: State, event: CallEnded, status: TaskStatus, code: Code | None) -> State:
    return replace(state, ending=Ending(status, event.code or code, event.message, event.resumes_at))


def _checkpointed(state: State, event: CheckpointMade) -> State:
    committed = replace(state, commit=event.commit or state.commit, output=event.output or state.output)
    committed = replace(committed, tree=event.tree)
    if state.stage is Stage.TURNED:
        return replace(in_phase(committed, "running", 0, event.commit), stage=Stage.READY)
    status = state.phases[state.phase].status
    return after_checkpoint(in_phase(committed, status, 1, event.commit))


def _waits(state: State, event: GateWaiting) -> State:
    """For a person; nothing runs meanwhile."""
    gate = GateState("pending", event.reason, event.sha)
    if state.stage is Stage.MERGING:
        asked = replace(state, merge=gate)
    else:
        asked = with_phase(state, state.phase, replace(state.phases[state.phase], gate=gate))
    return _becomes(replace(asked, message=event.reason), TaskStatus.NEEDS_REVIEW)


def _ended(state: State, event: TaskCompleted | TaskFailed | TaskCancelled) -> State:
    ended = replace(state, stage=Stage.ENDED, session_id="", ending=None, resumes_at=None)
    match event:
        case TaskCompleted():
            return _becomes(replace(ended, code=None, message=""), TaskStatus.COMPLETED)
        case TaskCancelled():
            return _becomes(replace(ended, code=Code.ABORTED, message=event.message), TaskStatus.CANCELLED)
        case TaskFailed():
            failed = replace(ended, code=event.code, message=event.message, failures=state.failures + 1)
            again = failed.failures >= _FAILURES_BEFORE_QUARANTINE
            return _becomes(failed, TaskStatus.QUARANTINED if again else TaskStatus.FAILED)
        case _:
            assert_never(event)


def _rests(state: State, status: TaskStatus, code: Code | None, message: str) -> State:
    return _becomes(replace(state, code=code, message=message, ending=None), status)


def _reopened(state: State, event: TaskReopened) -> State:
    """The phases that passed stay passed, but for those from the one that is named; the others begin anew."""
    if event.phase and (state.status in REOPENABLE or state.status is TaskStatus.COMPLETED):
        return rewound(state, event.phase, bool(event.text))
    if state.status not in REOPENABLE:
        return state
    kept = tuple(
        one if one.status in ("completed", "skipped") else PhaseState(one.id) for one in state.phases
    )
    fresh = replace(state, round=state.round + 1, phases=kept, call=1, session_id="", answer="", merge=None)
    fresh = replace(fresh, cancel=False, pause=False, ending=None, resumes_at=None, code=None, message="")
    fresh = replace(fresh, warnings=(), word=0, retry_of="", signatures=(), asks_review=False)
    fresh = replace(fresh, rebases=0, onto=None)
    return replace(advance(fresh), status=TaskStatus.PENDING, stage=Stage.NEW)


def _becomes(state: State, status: TaskStatus) -> State:
    if not may_become(state.status, status):
        raise OutOfOrder(f"{state.task}: {state.status} cannot become {status}")
    return replace(state, status=status)
