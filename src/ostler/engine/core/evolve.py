"""Folds records into a state."""

from __future__ import annotations

from typing import assert_never

from msgspec import Raw
from msgspec.structs import replace

from ostler.engine.core.decide import decide, step_for_stage
from ostler.engine.core.decisions import apply_decision, rewind_to
from ostler.engine.core.moves import (
    add_warnings,
    advance,
    apply_gate_decided,
    can_retry,
    continue_after_checkpoint,
    replace_phase,
    send_back_for_retry,
    update_phase,
)
from ostler.engine.core.publishing import apply_published, apply_rebased, apply_step_failed
from ostler.engine.core.step import MERGE
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
    UsageEvent,
    WorkspaceReleased,
)
from ostler.model.state import Ending, GateState, PhaseState, Stage, State
from ostler.model.status import REOPENABLE, TaskStatus, may_become
from ostler.model.usage import add_cost

_FAILURES_BEFORE_QUARANTINE = 3


class OutOfOrder(Exception):
    """A record is not the next one of its task, or does not fit its state."""


def begin(record: Record) -> State:
    """Return the state after the first record of a task."""
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
    """Return the state after one more record; raise OutOfOrder if it does not follow."""
    if record.seq != state.seq + 1 or record.task != state.task:
        raise OutOfOrder(f"{record.task}: record {record.seq} does not follow {state.task} {state.seq}")
    return replace(_fold(state, record), seq=record.seq, updated_at=record.at)


def fold(records: list[Record]) -> State:
    """Return the state after all records of a task."""
    state = begin(records[0])
    for record in records[1:]:
        state = evolve(state, record)
    return state


def _fold(state: State, record: Record) -> State:
    event = record.event
    if isinstance(event, UsageEvent):
        state = _add_usage(state, event)
    if not isinstance(event, Raw) and _is_stale(state, record, event):
        return state
    match event:
        case TaskClaimed():
            return _apply_claimed(state)
        case TaskStarted():
            started = replace(state, worktree=event.worktree, branch=event.branch, base=event.base)
            started = replace(started, target=event.target or state.target)
            started = replace(started, remotes=state.remotes if event.remotes is None else event.remotes)
            return _continue_after_preparation(replace(started, reset_to=None, conflict_commit=None))
        case CallEnded():
            return _apply_call_ended(state, event)
        case CheckpointMade():
            return _apply_checkpoint(state, event)
        case GateWaiting():
            return _apply_gate_waiting(state, event)
        case GateDecided():
            return apply_gate_decided(state, event)
        case Published():
            return apply_published(state, event)
        case Rebased():
            return apply_rebased(state, event)
        case StepFailed():
            return apply_step_failed(state, event)
        case TaskReleased():
            waiting = _set_waiting(state, TaskStatus.PENDING, Code.INTERRUPTED, event.message)
            # The ending that the last call led to is still to be recorded.
            return replace(waiting, ending=state.ending)
        case TaskDeferred():
            waiting = _set_waiting(state, TaskStatus.DEFERRED, event.code, event.message)
            return replace(waiting, resumes_at=event.resumes_at, call=state.call + 1)
        case TaskPaused():
            return replace(
                _set_waiting(state, TaskStatus.PAUSED, event.code, event.message), pause_requested=False
            )
        case TaskBlocked():
            return _set_waiting(state, TaskStatus.BLOCKED, event.code, event.message)
        case TaskCompleted() | TaskFailed() | TaskCancelled():
            return _apply_end(state, event)
        case WorkspaceReleased():
            return replace(state, stage=Stage.CLOSED, worktree=state.worktree if event.kept else None)
        case TaskReopened():
            return _apply_reopened(state, event)
        case DecisionRecorded():
            return apply_decision(state, event)
        case TaskCreated():
            raise OutOfOrder(f"{state.task}: duplicate task_created")
        case Raw():
            return state
        case _:
            assert_never(event)


def _is_stale(state: State, record: Record, event: Event) -> bool:
    """Return whether it is the result of a step that a later decision has superseded."""
    if record.step:
        return record.step not in (step.key for step in (decide(state), step_for_stage(state)) if step)
    if isinstance(event, CallEnded | CheckpointMade | GateWaiting | GateDecided):
        return event.phase not in (state.current.id, MERGE)
    return False


def _apply_claimed(state: State) -> State:
    stage = Stage.NEW if state.stage is Stage.READY else state.stage
    claimed = replace(state, claims=state.claims + 1, stage=stage, code=None, message="", resumes_at=None)
    return claimed if state.status is TaskStatus.IN_PROGRESS else _set_status(claimed, TaskStatus.IN_PROGRESS)


def _continue_after_preparation(state: State) -> State:
    """Continue with the current phase, or with the steps after the last one."""
    return (
        advance(state)
        if state.phases[state.phase].status in ("completed", "skipped")
        else replace(state, stage=Stage.READY)
    )


def _add_usage(state: State, event: UsageEvent) -> State:
    """Add the usage of attempts, also if the event itself is stale."""
    cost = add_cost(state.cost_usd, event.cost_usd)
    return replace(state, usage=state.usage + event.usage, cost_usd=cost)


def _apply_call_ended(state: State, event: CallEnded) -> State:
    updated = replace(
        state,
        session_id=event.session_id,
        answer=event.answer or state.answer,
        warnings=add_warnings(state, event.warnings),
    )
    match event.verdict:
        case "complete" | "review":
            review = event.verdict == "review"
            return _complete_iteration(replace(_clear_feedback(updated), review_requested=review))
        case "continue":
            return _continue_phase(update_phase(_clear_feedback(updated), "running", 1), event)
        case "blocked":
            return _apply_blocked(_clear_feedback(updated), event)
        case "failed":
            return _set_ending(updated, event, TaskStatus.FAILED, Code.UNKNOWN)
        case "deferred":
            return _set_ending(updated, event, TaskStatus.DEFERRED, Code.RATE_LIMITED)
        case "paused":
            return _set_ending(updated, event, TaskStatus.PAUSED, None)
        case "interrupted":
            return updated
        case _:
            assert_never(event.verdict)


def _apply_blocked(state: State, event: CallEnded) -> State:
    """Retry the phase that this one checks; any other phase waits for a person."""
    if state.current.retry_to and event.code is Code.AGENT_BLOCKED and can_retry(state):
        return send_back_for_retry(update_phase(state, "failed", 1), state.seq + 1)
    return _set_ending(state, event, TaskStatus.BLOCKED, Code.AGENT_BLOCKED)


def _clear_feedback(state: State) -> State:
    """Drop the feedback that was delivered; the reason of a retry stays until its phase passes."""
    return state if state.retry_of else replace(state, feedback_seq=0)


def _complete_iteration(state: State) -> State:
    """Continue with the checkpoint, or with the gate if a later phase commits the work."""
    last = all(one.status in ("completed", "skipped") for one in state.phases[state.phase + 1 :])
    commits = state.current.checkpoint or last or state.current.gate.type in ("command", "ai")
    if commits:
        return replace(update_phase(state, "running"), stage=Stage.ANSWERED)
    return continue_after_checkpoint(update_phase(state, "running", 1))


def _continue_phase(state: State, event: CallEnded) -> State:
    used = state.phases[state.phase].iterations
    if used < state.max_iterations:
        stage = Stage.ITERATED if state.current.strategy.checkpoint_each_iteration else Stage.READY
        return replace(state, call=1, stage=stage)
    message = f"{event.phase} used all {used} iterations without reporting completion"
    return replace(state, ending=Ending(TaskStatus.PAUSED, Code.ITERATION_LIMIT, message))


def _set_ending(state: State, event: CallEnded, status: TaskStatus, code: Code | None) -> State:
    return replace(state, ending=Ending(status, event.code or code, event.message, event.resumes_at))


def _apply_checkpoint(state: State, event: CheckpointMade) -> State:
    committed = replace(state, commit=event.commit or state.commit, output=event.output or state.output)
    committed = replace(committed, tree=event.tree)
    if state.stage is Stage.ITERATED:
        return replace(update_phase(committed, "running", 0, event.commit), stage=Stage.READY)
    status = state.phases[state.phase].status
    return continue_after_checkpoint(update_phase(committed, status, 1, event.commit))


def _apply_gate_waiting(state: State, event: GateWaiting) -> State:
    """Wait for a person."""
    gate = GateState("pending", event.reason, event.sha)
    if state.stage is Stage.MERGING:
        waiting = replace(state, merge=gate)
    else:
        waiting = replace_phase(state, state.phase, replace(state.phases[state.phase], gate=gate))
    return _set_status(replace(waiting, message=event.reason), TaskStatus.NEEDS_REVIEW)


def _apply_end(state: State, event: TaskCompleted | TaskFailed | TaskCancelled) -> State:
    ended = replace(state, stage=Stage.ENDED, session_id="", ending=None, resumes_at=None)
    match event:
        case TaskCompleted():
            return _set_status(replace(ended, code=None, message=""), TaskStatus.COMPLETED)
        case TaskCancelled():
            return _set_status(replace(ended, code=Code.ABORTED, message=event.message), TaskStatus.CANCELLED)
        case TaskFailed():
            failed = replace(ended, code=event.code, message=event.message, failures=state.failures + 1)
            quarantined = failed.failures >= _FAILURES_BEFORE_QUARANTINE
            return _set_status(failed, TaskStatus.QUARANTINED if quarantined else TaskStatus.FAILED)
        case _:
            assert_never(event)


def _set_waiting(state: State, status: TaskStatus, code: Code | None, message: str) -> State:
    return _set_status(replace(state, code=code, message=message, ending=None), status)


def _apply_reopened(state: State, event: TaskReopened) -> State:
    """Reset every phase that did not pass, or all from the named phase on."""
    if event.phase and (state.status in REOPENABLE or state.status is TaskStatus.COMPLETED):
        return rewind_to(state, event.phase, bool(event.text))
    if state.status not in REOPENABLE:
        return state
    kept = tuple(
        one if one.status in ("completed", "skipped") else PhaseState(one.id) for one in state.phases
    )
    fresh = replace(state, round=state.round + 1, phases=kept, call=1, session_id="", answer="", merge=None)
    fresh = replace(
        fresh,
        cancel_requested=False,
        pause_requested=False,
        ending=None,
        resumes_at=None,
        code=None,
        message="",
    )
    fresh = replace(fresh, warnings=(), feedback_seq=0, retry_of="", signatures=(), review_requested=False)
    fresh = replace(fresh, rebases=0, conflict_commit=None)
    return replace(advance(fresh), status=TaskStatus.PENDING, stage=Stage.NEW)


def _set_status(state: State, status: TaskStatus) -> State:
    if not may_become(state.status, status):
        raise OutOfOrder(f"{state.task}: {state.status} cannot become {status}")
    return replace(state, status=status)
