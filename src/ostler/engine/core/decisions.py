"""Applies decisions of a person to a state; a decision that is not applicable changes nothing."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.moves import (
    advance,
    apply_gate_decided,
    replace_phase,
    reset_phases,
    send_back_for_retry,
)
from ostler.engine.core.step import MERGE
from ostler.errors import Code
from ostler.model.event import DecisionRecorded, GateDecided
from ostler.model.state import GateState, PhaseState, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_S = TaskStatus
_AT_GATE = (Stage.CHECKING, Stage.MERGING)
_WORKING = (Stage.NEW, Stage.READY, Stage.ITERATED, Stage.ANSWERED, Stage.CHECKING)
_WAITING = (_S.PENDING, _S.ASSIGNED, _S.REVISION, _S.DEFERRED)


def apply_decision(state: State, event: DecisionRecorded) -> State:
    """Return the state after a person's decision."""
    match event.verb:
        case "cancel":
            return (
                state
                if state.status in TERMINAL
                else replace(state, cancel_requested=True, cancel_reason=event.text)
            )
        case "pause":
            return _pause(state)
        case "resume":
            return _resume(state, event)
        case "approve" | "reject":
            return _answer_gate(state, event)
        case "skip":
            return _skip_phase(state, event)
        case "rewind":
            return state if state.status in TERMINAL else rewind_to(state, event.phase, bool(event.text))
        case _:
            assert_never(event.verb)


def _pause(state: State) -> State:
    if state.status in _WAITING:
        return replace(state, status=_S.PAUSED, code=None, message="paused by a person", resumes_at=None)
    return replace(state, pause_requested=True) if state.status is _S.IN_PROGRESS else state


def _resume(state: State, event: DecisionRecorded) -> State:
    """Continue with the text as feedback, and with more iterations if they were used up."""
    if state.pause_requested and state.status is _S.IN_PROGRESS:
        return replace(state, pause_requested=False)
    if state.status not in (_S.PAUSED, _S.BLOCKED, _S.DEFERRED):
        return state
    resumed = replace(state, status=_S.PENDING, code=None, message="", resumes_at=None, pause_requested=False)
    resumed = replace(
        resumed, call=state.call + 1, feedback_seq=state.seq + 1 if event.text else state.feedback_seq
    )
    if state.code is Code.DEPENDENCY_FAILED:
        resumed = replace(resumed, after=())
    if state.code is Code.ITERATION_LIMIT:
        phase = resumed.phases[resumed.phase]
        more = replace(phase, extra_iterations=phase.extra_iterations + resumed.current.max_iterations)
        resumed = replace_phase(resumed, resumed.phase, more)
    rejected = state.status is _S.BLOCKED and state.stage in _AT_GATE
    repeats_gate = state.code is Code.GATE_UNRUNNABLE and not event.text
    has_conflict = state.code is Code.MERGE_CONFLICT and state.stage is Stage.PUBLISHING and event.text
    if has_conflict or (rejected and not repeats_gate):
        return send_back_for_retry(resumed, state.seq + 1)
    return replace(resumed, conflict_commit=None, rebases=0)


def _answer_gate(state: State, event: DecisionRecorded) -> State:
    """Apply an approval or rejection to a gate that waits for a person or has rejected the work."""
    waits = state.status is _S.NEEDS_REVIEW or (state.status is _S.BLOCKED and state.stage in _AT_GATE)
    if not waits:
        return state
    approved = event.verb == "approve"
    phase = MERGE if state.stage is Stage.MERGING else state.current.id
    decision = GateDecided(phase, "human", "pass" if approved else "fail", event.text, state.commit)
    after = apply_gate_decided(replace(state, code=None, message=""), decision)
    if after.ending is not None:
        end = after.ending
        return replace(after, status=_S.BLOCKED, code=end.code, message=end.message, ending=None)
    return replace(after, status=_S.PENDING if approved else _S.REVISION)


def _skip_phase(state: State, event: DecisionRecorded) -> State:
    index = state.plan.index(event.phase)
    if state.status in TERMINAL or index is None or state.phases[index].status == "completed":
        return state
    gate = GateState("skipped", event.text)
    skipped = replace_phase(state, index, replace(state.phases[index], status="skipped", gate=gate))
    if state.retry_of == event.phase:
        skipped = replace(skipped, retry_of="", feedback_seq=0, signatures=())
    if index != state.phase or state.stage not in _WORKING:
        return skipped
    return _leave_phase(
        skipped, was_started=state.phases[index].iterations > 0 or state.status is _S.IN_PROGRESS
    )


def _leave_phase(state: State, was_started: bool) -> State:
    """Leave the current phase; its work is committed first."""
    waits = state.status in (_S.PAUSED, _S.BLOCKED, _S.NEEDS_REVIEW)
    moved_on = replace(state, ending=None, status=_S.PENDING if waits else state.status, call=state.call + 1)
    moved_on = replace(moved_on, code=None, message="") if waits else moved_on
    if state.stage is Stage.NEW or not was_started:
        moved = advance(moved_on)
        return replace(moved, stage=Stage.NEW) if state.stage is Stage.NEW else moved
    return replace(moved_on, stage=Stage.ANSWERED)


def rewind_to(state: State, to: str, has_feedback: bool) -> State:
    """Return to the start of a phase and discard its result and those of later phases."""
    index = state.plan.index(to)
    if index is None:
        return state
    fresh = tuple(PhaseState(one.id) for one in state.phases[index:])
    back = reset_phases(replace(state, phases=(*state.phases[:index], *fresh)), index, index)
    commits = [one.commit for one in state.phases[:index] if one.commit]
    commit = commits[-1] if commits else None
    back = replace(back, stage=Stage.NEW, commit=commit, tree="", reset_to=commit or state.base, merge=None)
    back = replace(
        back,
        ending=None,
        cancel_requested=False,
        pause_requested=False,
        code=None,
        message="",
        resumes_at=None,
    )
    back = replace(back, warnings=(), signatures=(), retry_of="", review_requested=False, pr_url=None)
    back = replace(
        back,
        feedback_seq=state.seq + 1 if has_feedback else 0,
        recheck_phases=(),
        rebases=0,
        conflict_commit=None,
    )
    return back if state.status is _S.IN_PROGRESS else replace(back, status=_S.PENDING)
