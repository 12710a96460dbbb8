"""Applies decisions of a person to a state; a decision that is not applicable changes nothing."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.left import forget_details
from ostler.engine.core.moves import (
    RETURN_RULES,
    REVIEW_RULES,
    advance,
    apply_gate_decided,
    checks_earlier_work,
    reset_phases,
    send_back_for_person,
    send_back_for_retry,
)
from ostler.engine.core.requests import is_withdrawn, undo_decision
from ostler.engine.core.verdicts import (
    find_gate,
    has_live_rules,
    name_current_gate,
    planned_gate,
    replace_phase,
    waits_for_guarded_files,
)
from ostler.errors import Code
from ostler.model.event import DecisionRecorded, GateDecided, SettingsAccepted
from ostler.model.state import BY_TIMEOUT, GateState, PhaseState, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_S = TaskStatus
_AT_GATE = (Stage.CHECKING, Stage.FINAL, Stage.MERGING)
_WORKING = (Stage.NEW, Stage.READY, Stage.ITERATED, Stage.ANSWERED, Stage.CHECKING)
_WAITING = (_S.PENDING, _S.ASSIGNED, _S.REVISION, _S.DEFERRED)


def hold_proposal(state: State) -> State:
    """Return the state of a new task that an agent proposed: a person decides whether it starts."""
    message = f"proposed by {state.proposed_by}; it starts when a person approves it"
    return replace(state, status=_S.NEEDS_REVIEW, message=message, held=True)


def apply_decision(state: State, event: DecisionRecorded) -> State:
    """Return the state after a person's decision."""
    match event.verb:
        case "cancel":
            return _cancel(state, event)
        case "pause":
            return _pause(state)
        case "resume":
            return _resume(state, event)
        case "message":
            return _interrupt_with_message(state)
        case "approve" | "reject" if state.held:
            return _answer_proposal(state, event)
        case "approve" | "reject":
            return _remember_request(_answer_gate(state, event), state, event)
        case "skip" | "rewind" if state.held:
            return state
        case "skip":
            return _skip_phase(state, event)
        case "rewind":
            return state if state.status in TERMINAL else rewind_to(state, event.phase, bool(event.text))
        case "undo":
            return undo_decision(state)
        case "kill":
            # The run ends the attempt; its call decides on a retry.
            return state
        case _:
            assert_never(event.verb)


def _cancel(state: State, event: DecisionRecorded) -> State:
    is_published = state.stage is Stage.DONE and bool(state.published_into or state.pr_url)
    if state.status in TERMINAL or is_published:
        # Only the completion is still to be recorded: a cancelled task would not be what was published.
        return state
    return replace(state, cancel_requested=True, cancel_reason=event.text)


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
    resumed = replace(resumed, steps=0)
    if state.code is Code.ITERATION_LIMIT and state.phases[state.phase].iterations >= state.max_iterations:
        phase = resumed.phases[resumed.phase]
        more = replace(phase, extra_iterations=phase.extra_iterations + resumed.current.max_iterations)
        resumed = replace_phase(resumed, resumed.phase, more)
    rejected = state.status is _S.BLOCKED and state.stage in _AT_GATE
    repeats_gate = state.code is Code.GATE_UNRUNNABLE and not event.text
    can_merge = state.stage is Stage.PUBLISHING or (state.stage is Stage.NEW and state.conflict_commit)
    has_conflict = state.code is Code.MERGE_CONFLICT and can_merge and event.text
    if has_conflict or (rejected and not repeats_gate) or (event.text and _has_findings(state)):
        return _send_back(resumed, event)
    return replace(resumed, conflict_commit=None, rebases=0)


def takes_message(state: State) -> bool:
    """Return whether a call runs or is about to start, which a message replaces by one that has it."""
    works = state.status is _S.IN_PROGRESS and state.stage is Stage.READY
    return works and state.ending is None and not (state.pause_requested or state.cancel_requested)


def _interrupt_with_message(state: State) -> State:
    """Call the agent again with the message; the key of the new call stops the one that runs."""
    if not takes_message(state):
        return state
    return replace(state, call=state.call + 1, feedback_seq=state.seq + 1)


def _send_back(state: State, event: DecisionRecorded) -> State:
    """Send the work back; from the rules of reviews on, a person's decision uses up no retry."""
    by_person = event.by != BY_TIMEOUT and (event.review or state.rules >= REVIEW_RULES)
    return send_back_for_person(state) if by_person else send_back_for_retry(state, state.seq + 1)


def _has_findings(state: State) -> bool:
    """Return whether a phase that checks earlier work is blocked by what it found."""
    blocked = state.status is _S.BLOCKED and state.code is Code.AGENT_BLOCKED
    working = state.stage in (Stage.READY, Stage.ITERATED) and state.rules >= RETURN_RULES
    return blocked and working and checks_earlier_work(state, state.current.id)


def _answer_proposal(state: State, event: DecisionRecorded) -> State:
    if event.verb == "approve":
        return replace(state, status=_S.PENDING, message="", held=False)
    return replace(state, cancel_requested=True, cancel_reason=f"proposal rejected: {event.text}")


def _answer_gate(state: State, event: DecisionRecorded) -> State:
    """Apply an approval or rejection to a gate that waits for a person or has rejected the work."""
    at_gate = state.stage in _AT_GATE and name_current_gate(state) != ""
    waits = state.status is _S.NEEDS_REVIEW or (state.status is _S.BLOCKED and at_gate)
    if not waits:
        return state
    approved = event.verb == "approve"
    if state.stage is Stage.PUBLISHING:
        again = replace(state, code=None, message="", call=state.call + 1)
        if approved:
            return replace(again, status=_S.PENDING)
        return replace(_send_back(again, event), status=_S.REVISION)
    decided = replace(state, code=None, message="")
    after = apply_gate_decided(decided, _build_verdict(state, event), is_review=event.review > 0)
    if after.ending is not None:
        end = after.ending
        return replace(after, status=_S.BLOCKED, code=end.code, message=end.message, ending=None)
    return replace(after, status=_S.PENDING if approved else _S.REVISION)


def _remember_request(answered: State, before: State, event: DecisionRecorded) -> State:
    """Keep how the approved work is to be published; a rejection drops an earlier request."""
    if answered is before:
        return before
    if event.verb == "reject":
        return replace(answered, publish_next=None)
    return replace(answered, publish_next=event.then) if event.then else answered


def _build_verdict(state: State, event: DecisionRecorded) -> GateDecided:
    """Return a person's verdict; the approval of what the gate did not pass overrules it."""
    name = name_current_gate(state)
    verdict = "pass" if event.verb == "approve" else "fail"
    decided = GateDecided(name, "human", verdict, event.text, state.commit, by=event.by)
    found = find_gate(state, name)
    if found is None or not (event.by or has_live_rules(state)):
        return decided
    decided = replace(decided, check=found.check)
    original = found.original or (found.verdict if found.verdict in ("fail", "could_not_run") else None)
    if verdict == "fail" or original is None:
        return decided
    kind = found.type or planned_gate(state, name).type
    if original == "pass":
        # Of the same type as the gate: a verdict of another type would be asked for again.
        return replace(decided, gate=kind)
    return replace(decided, gate=kind, verdict="overruled", original=original)


def apply_accepted(state: State, event: SettingsAccepted) -> State:
    """Use the accepted settings; a gate that they remove does not wait for a person any longer."""
    accepted = replace(state, protection=event.protection)
    name = name_current_gate(state)
    waits = state.status is _S.NEEDS_REVIEW and not state.review_requested and not state.held
    if not waits or event.protection.gate(name).type == "human" or waits_for_guarded_files(accepted):
        return accepted
    return replace(accepted, status=_S.PENDING, message="", checks=state.checks + 1)


def _skip_phase(state: State, event: DecisionRecorded) -> State:
    index = state.plan.index(event.phase)
    if state.status in TERMINAL or index is None or state.phases[index].status == "completed":
        return state
    if is_withdrawn(state):
        # Its phases become what they were when the work was completed.
        return state
    before = state.phases[index].gate
    original = (before.original or before.verdict) if before and before.verdict != "pending" else None
    gate = GateState("skipped", event.text, by=event.by, original=original)
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
    fresh = tuple(PhaseState(one.id, first_round=state.round + 1) for one in state.phases[index:])
    back = reset_phases(replace(state, phases=(*state.phases[:index], *fresh)), index, index)
    commits = [one.commit for one in state.phases[:index] if one.commit]
    commit = commits[-1] if commits else None
    back = replace(
        back, stage=Stage.NEW, commit=commit, tree="", tip=None, reset_to=commit or state.base, merge=None
    )
    back = replace(
        back,
        ending=None,
        cancel_requested=False,
        pause_requested=False,
        code=None,
        message="",
        resumes_at=None,
    )
    # The new work is another one: what was requested and published before is not about it.
    back = replace(back, gates=(), final_gate="", completed=None, published_into="")
    back = replace(back, publish_as=None, publish_next=None)
    back = forget_details(replace(back, warnings=()))
    back = replace(back, signatures=(), retry_of="", review_requested=False, pr_url=None)
    back = replace(
        back,
        feedback_seq=state.seq + 1 if has_feedback else 0,
        recheck_phases=(),
        rebases=0,
        conflict_commit=None,
        unchanged=False,
        no_changes="",
        steps=0,
    )
    return back if state.status is _S.IN_PROGRESS else replace(back, status=_S.PENDING)
