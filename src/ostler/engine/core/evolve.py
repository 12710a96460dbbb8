"""Folds records into a state."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import assert_never

from msgspec import Raw
from msgspec.structs import replace

from ostler.engine.core.decide import decide, step_for_stage
from ostler.engine.core.decisions import apply_accepted, apply_decision, hold_proposal, rewind_to
from ostler.engine.core.disposal import apply_disposal
from ostler.engine.core.hosts import HOST_RULES, apply_moved, is_elsewhere
from ostler.engine.core.iterations import apply_call_ended, apply_checkpoint
from ostler.engine.core.left import add_details, forget_details, set_left
from ostler.engine.core.moves import (
    SESSION_RULES,
    add_warnings,
    advance,
    apply_gate_decided,
)
from ostler.engine.core.publishing import apply_published, apply_rebased, apply_step_failed
from ostler.engine.core.repeats import count_failure, count_step
from ostler.engine.core.requests import (
    PUBLISH_AGAIN,
    WITHDRAWN,
    is_withdrawn,
    keep_undoable,
    reopen_to_publish,
    withdraw_request,
)
from ostler.engine.core.reviews import reopen_for_review
from ostler.engine.core.rules import require_known_rules
from ostler.engine.core.verdicts import (
    apply_final_checked,
    enter_final_stage,
    find_gate,
    focus_gate,
    has_live_rules,
    name_current_gate,
    store_gate,
)
from ostler.errors import Code
from ostler.model.event import (
    REVIEW_REQUEST,
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Event,
    FinalChecked,
    GateDecided,
    GateWaiting,
    Published,
    Rebased,
    Record,
    SettingsAccepted,
    StepFailed,
    TaskArchived,
    TaskBlocked,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskDeferred,
    TaskEdited,
    TaskFailed,
    TaskHeld,
    TaskPaused,
    TaskPurged,
    TaskRebuilt,
    TaskReleased,
    TaskRemoved,
    TaskReopened,
    TaskStarted,
    TaskUnarchived,
    UsageEvent,
    WorkspaceReleased,
)
from ostler.model.plan import MERGE
from ostler.model.state import GateState, PhaseState, Stage, State
from ostler.model.status import REOPENABLE, TERMINAL, TaskStatus, may_become
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
    state = State(
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
        queued_at=task.queued_at,
        after_any=task.after_any,
        order_only=task.order_only,
        start_commit=task.start_commit,
        pipeline=task.pipeline,
        protection=created.protection,
        proposed_by=task.proposed_by,
    )
    return hold_proposal(state) if created.held else state


def evolve(state: State, record: Record) -> State:
    """Return the state after one more record; raise OutOfOrder if it does not follow.

    Raises STATE_VERSION for a task of a newer version.
    """
    require_known_rules(state)
    if record.seq != state.seq + 1 or record.task != state.task:
        raise OutOfOrder(f"{record.task}: record {record.seq} does not follow {state.task} {state.seq}")
    after = _fold(state, record)
    after = count_step(after) if record.step else after
    after = keep_undoable(state, after, record.event)
    return replace(after, seq=record.seq, updated_at=record.at)


def fold(records: list[Record]) -> State:
    """Return the state after all records of a task."""
    return deque(list_states(records), maxlen=1).pop()


def list_states(records: list[Record]) -> Iterator[State]:
    """Yield the state after each record of a task."""
    state = begin(records[0])
    yield state
    for record in records[1:]:
        state = evolve(state, record)
        yield state


def _fold(state: State, record: Record) -> State:
    event = record.event
    if isinstance(event, UsageEvent):
        state = _add_usage(state, event)
    if not isinstance(event, Raw) and _is_stale(state, record, event):
        return state
    match event:
        case TaskClaimed():
            return _apply_claimed(state, event)
        case TaskStarted():
            return _apply_started(state, event)
        case CallEnded():
            return apply_call_ended(state, event)
        case CheckpointMade():
            return apply_checkpoint(state, event)
        case GateWaiting():
            return _apply_gate_waiting(state, event)
        case GateDecided():
            return apply_gate_decided(state, event)
        case FinalChecked():
            return apply_final_checked(state, event)
        case Published():
            return apply_published(state, event)
        case Rebased():
            return apply_rebased(state, event)
        case StepFailed():
            return apply_step_failed(count_failure(state, record.step), event)
        case TaskReleased():
            waiting = _set_waiting(state, TaskStatus.PENDING, Code.INTERRUPTED, event.message)
            # The ending that the last call led to is still to be recorded.
            return replace(waiting, ending=state.ending)
        case TaskDeferred():
            waiting = _set_waiting(state, TaskStatus.DEFERRED, event.code, event.message)
            return replace(waiting, resumes_at=event.resumes_at, call=state.call + 1)
        case TaskHeld():
            waiting = _set_waiting(state, TaskStatus.PENDING, event.code, event.message)
            return replace(waiting, call=state.call + 1)
        case TaskPaused():
            return replace(
                _set_waiting(state, TaskStatus.PAUSED, event.code, event.message), pause_requested=False
            )
        case TaskBlocked():
            return _set_waiting(state, TaskStatus.BLOCKED, event.code, event.message)
        case TaskCompleted() | TaskFailed() | TaskCancelled():
            return _apply_end(state, event)
        case WorkspaceReleased():
            released = replace(state, stage=Stage.CLOSED, worktree=state.worktree if event.kept else None)
            is_reset = event.commit is not None and event.commit == state.reset_to
            reset_to = None if is_reset else state.reset_to
            notes = (event.warning,) if event.warning else ()
            released = replace(released, tip=event.commit or state.tip, reset_to=reset_to)
            released = replace(released, warnings=add_warnings(state, notes))
            return released if event.left is None else set_left(released, event.left)
        case TaskReopened():
            return replace(_apply_reopened(state, event), archived_at=None)
        case TaskEdited():
            return _apply_edited(state, event)
        case DecisionRecorded():
            return apply_decision(state, event)
        case SettingsAccepted():
            return apply_accepted(state, event)
        case TaskRebuilt():
            return _apply_rebuilt(state, event)
        case TaskArchived() | TaskUnarchived() | TaskRemoved() | TaskPurged():
            return apply_disposal(state, event, record.at)
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
    if isinstance(event, GateWaiting | GateDecided) and state.stage is Stage.FINAL:
        return False
    if isinstance(event, CallEnded | CheckpointMade | GateWaiting | GateDecided):
        return event.phase not in (state.current.id, MERGE)
    return False


def _apply_claimed(state: State, event: TaskClaimed) -> State:
    if event.rules > state.rules:
        state = _upgrade_rules(state, event)
    elif event.protection is not None:
        state = replace(state, protection=event.protection)
    if state.stage is Stage.PUBLISHING and has_live_rules(state) and state.ending is None:
        # The settings may require more than they did when the task reached this stage. A failure that is
        # still to be recorded stays one of publishing: no gate asks a person about it.
        state = enter_final_stage(state)
    stage = Stage.NEW if state.stage is Stage.READY else state.stage
    claimed = replace(state, claims=state.claims + 1, stage=stage, code=None, message="", resumes_at=None)
    if state.rules >= HOST_RULES:
        claimed = replace(claimed, host=event.host)
    return claimed if state.status is TaskStatus.IN_PROGRESS else _set_status(claimed, TaskStatus.IN_PROGRESS)


def _upgrade_rules(state: State, event: TaskClaimed) -> State:
    """Apply newer rules from here on."""
    upgraded = replace(state, rules=event.rules, protection=event.protection or state.protection)
    if state.rules < SESSION_RULES <= event.rules:
        # Older rules did not record since when a phase has its session.
        phases = tuple(replace(one, first_round=state.round) for one in state.phases)
        upgraded = replace(upgraded, phases=phases)
    return enter_final_stage(upgraded) if state.recheck_phases else upgraded


def _apply_started(state: State, event: TaskStarted) -> State:
    started = replace(state, worktree=event.worktree, branch=event.branch, base=event.base)
    started = replace(started, target=event.target or state.target, workspace_host=state.host)
    started = replace(started, remotes=state.remotes if event.remotes is None else event.remotes)
    if event.predecessors is not None:
        started = replace(started, predecessors=event.predecessors)
    if event.commit is not None and state.commit is not None:
        # Gates that passed another tree check the rebased commit again (moves.py).
        started = replace(started, commit=event.commit, tree=event.tree)
    prepared = replace(started, reset_to=None, conflict_commit=None)
    if is_elsewhere(state):
        return apply_moved(prepared, event.commit is not None)
    return _continue_after_preparation(prepared)


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


def _apply_gate_waiting(state: State, event: GateWaiting) -> State:
    """Wait for a person."""
    if state.stage is Stage.PUBLISHING:
        # All gates have passed; a person has to merge the commit.
        return _set_status(replace(state, message=event.reason), TaskStatus.NEEDS_REVIEW)
    if state.stage is Stage.FINAL:
        state = focus_gate(state, event.phase)
    name = name_current_gate(state)
    earlier = find_gate(state, name)
    check = event.check or (earlier.check if earlier else None)
    checks = event.checks or (earlier.checks if earlier else ())
    gate = GateState("pending", event.reason, event.sha, check=check, guarded=event.guarded, checks=checks)
    if has_live_rules(state):
        gate = _keep_verdict(replace(gate, type=event.gate), earlier, state)
    waiting = store_gate(state, name, gate)
    waiting = replace(waiting, message=event.reason, warnings=add_warnings(state, event.warnings))
    return _set_status(waiting, TaskStatus.NEEDS_REVIEW)


def _keep_verdict(waiting: GateState, before: GateState | None, state: State) -> GateState:
    """Keep the verdict about which a person was asked."""
    if before is None or not state.review_requested or before.sha != waiting.sha:
        return waiting
    original = before.original or (None if before.verdict == "pending" else before.verdict)
    return replace(waiting, original=original, type=before.type or waiting.type, check=before.check)


def _apply_end(state: State, event: TaskCompleted | TaskFailed | TaskCancelled) -> State:
    withdrawn = isinstance(event, TaskCompleted) and (is_withdrawn(state) or bool(event.message))
    ended = withdraw_request(state) if withdrawn else state
    ended = replace(ended, stage=Stage.ENDED, session_id="", ending=None, resumes_at=None)
    match event:
        case TaskCompleted():
            message = event.message or (WITHDRAWN if withdrawn else "")
            done = replace(ended, code=None, message=message, publish_next=None)
            return _set_status(done, TaskStatus.COMPLETED)
        case TaskCancelled():
            return _set_status(replace(ended, code=Code.ABORTED, message=event.message), TaskStatus.CANCELLED)
        case TaskFailed():
            failed = replace(
                ended, code=event.code, message=event.message, failures=state.failures + event.counts
            )
            quarantined = event.counts and failed.failures >= _FAILURES_BEFORE_QUARANTINE
            return _set_status(failed, TaskStatus.QUARANTINED if quarantined else TaskStatus.FAILED)
        case _:
            assert_never(event)


def _set_waiting(state: State, status: TaskStatus, code: Code | None, message: str) -> State:
    return _set_status(replace(state, code=code, message=message, ending=None), status)


def _apply_reopened(state: State, event: TaskReopened) -> State:
    """Reset every phase that did not pass, or all from the named phase on."""
    if event.phase and (state.status in REOPENABLE or state.status is TaskStatus.COMPLETED):
        return rewind_to(state, event.phase, bool(event.text))
    if event.by == REVIEW_REQUEST and state.status is TaskStatus.COMPLETED:
        return reopen_for_review(state)
    if event.by in PUBLISH_AGAIN and state.status is TaskStatus.COMPLETED:
        return reopen_to_publish(state, PUBLISH_AGAIN[event.by])
    if state.status not in REOPENABLE:
        return state
    kept = tuple(
        one if one.status in ("completed", "skipped") else PhaseState(one.id, first_round=state.round + 1)
        for one in state.phases
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
    warnings = state.warnings if kept == state.phases else ()  # they are about work that stays
    fresh = forget_details(replace(fresh, warnings=warnings))
    fresh = replace(fresh, feedback_seq=0, retry_of="", signatures=(), review_requested=False)
    fresh = replace(fresh, rebases=0, conflict_commit=None, final_gate="", no_changes="", held=False)
    fresh = replace(fresh, publish_next=state.publish_next if kept == state.phases else None, steps=0)
    return replace(advance(fresh), status=TaskStatus.PENDING, stage=Stage.NEW)


def _apply_rebuilt(state: State, event: TaskRebuilt) -> State:
    warned = replace(state, warnings=add_warnings(state, event.warnings))
    details = add_details(state, event.warning_details)
    return replace(warned, warning_details=details, round=max(state.round, event.round))


def _apply_edited(state: State, event: TaskEdited) -> State:
    """Use the new values; the plan of a task that has started stays."""
    task = event.task
    edited = replace(state, title=task.title, priority=task.priority)
    edited = replace(edited, not_before=task.not_before, queued_at=task.queued_at)
    if state.claims or state.status in TERMINAL:
        return edited
    edited = replace(edited, weight=task.weight, after=task.after, after_any=task.after_any)
    if event.plan is None:
        return edited
    phases = tuple(PhaseState(phase.id) for phase in event.plan.phases)
    return replace(edited, plan=event.plan, phases=phases, phase=0)


def _set_status(state: State, status: TaskStatus) -> State:
    if not may_become(state.status, status):
        raise OutOfOrder(f"{state.task}: {state.status} cannot become {status}")
    return replace(state, status=status)
