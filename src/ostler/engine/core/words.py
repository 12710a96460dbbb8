"""What a person's word makes of a task. Every word is kept; one that does not fit changes nothing."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.moves import advance, decided, reset_from, send_back, with_phase
from ostler.errors import Code
from ostler.model.event import DecisionRecorded, GateDecided
from ostler.model.state import GateState, PhaseState, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_S = TaskStatus
_AT_GATE = (Stage.CHECKING, Stage.MERGING)
_WORKING = (Stage.NEW, Stage.READY, Stage.TURNED, Stage.ANSWERED, Stage.CHECKING)
_RESTING = (_S.PENDING, _S.ASSIGNED, _S.REVISION, _S.DEFERRED)


def heard(state: State, event: DecisionRecorded) -> State:
    """The state after a person's word."""
    match event.verb:
        case "cancel":
            return (
                state if state.status in TERMINAL else replace(state, cancel=True, cancelled_for=event.text)
            )
        case "pause":
            return _paused(state)
        case "resume":
            return _resumed(state, event)
        case "approve" | "reject":
            return _judged(state, event)
        case "skip":
            return _skipped(state, event)
        case "rewind":
            return state if state.status in TERMINAL else rewound(state, event.phase, bool(event.text))
        case _:
            assert_never(event.verb)


def _paused(state: State) -> State:
    if state.status in _RESTING:
        return replace(state, status=_S.PAUSED, code=None, message="paused by a person", resumes_at=None)
    return replace(state, pause=True) if state.status is _S.IN_PROGRESS else state


def _resumed(state: State, event: DecisionRecorded) -> State:
    """Go on where it stands, with a word for the agent, and with more iterations where they were used up."""
    if state.pause and state.status is _S.IN_PROGRESS:
        return replace(state, pause=False)
    if state.status not in (_S.PAUSED, _S.BLOCKED, _S.DEFERRED):
        return state
    on = replace(state, status=_S.PENDING, code=None, message="", resumes_at=None, pause=False)
    on = replace(on, call=state.call + 1, word=state.seq + 1 if event.text else state.word)
    if state.code is Code.DEPENDENCY_FAILED:
        on = replace(on, after=())
    if state.code is Code.ITERATION_LIMIT:
        phase = on.phases[on.phase]
        more = replace(phase, granted=phase.granted + on.current.max_iterations)
        on = with_phase(on, on.phase, more)
    refused = state.status is _S.BLOCKED and state.stage in _AT_GATE
    asks_again = state.code is Code.GATE_UNRUNNABLE and not event.text
    unfit = state.code is Code.MERGE_CONFLICT and state.stage is Stage.PUBLISHING and event.text
    if unfit or (refused and not asks_again):
        return send_back(on, state.seq + 1)
    return replace(on, onto=None, rebases=0)


def _judged(state: State, event: DecisionRecorded) -> State:
    """A person answers at a gate: one that waits for them, or one that said no."""
    waits = state.status is _S.NEEDS_REVIEW or (state.status is _S.BLOCKED and state.stage in _AT_GATE)
    if not waits:
        return state
    yes = event.verb == "approve"
    of = "merge" if state.stage is Stage.MERGING else state.current.id
    sha = state.commit
    word = GateDecided(of, "human", "pass" if yes else "fail", event.text, sha)
    after = decided(replace(state, code=None, message=""), word)
    if after.ending is not None:
        end = after.ending
        return replace(after, status=_S.BLOCKED, code=end.code, message=end.message, ending=None)
    return replace(after, status=_S.PENDING if yes else _S.REVISION)


def _skipped(state: State, event: DecisionRecorded) -> State:
    index = state.plan.index(event.phase)
    if state.status in TERMINAL or index is None or state.phases[index].status == "completed":
        return state
    gate = GateState("skipped", event.text)
    skipped = with_phase(state, index, replace(state.phases[index], status="skipped", gate=gate))
    if state.retry_of == event.phase:
        skipped = replace(skipped, retry_of="", word=0, signatures=())
    if index != state.phase or state.stage not in _WORKING:
        return skipped
    return _past(skipped, was_at_work=state.phases[index].iterations > 0 or state.status is _S.IN_PROGRESS)


def _past(state: State, was_at_work: bool) -> State:
    """Leave the current phase; what it did is committed first."""
    rests = state.status in (_S.PAUSED, _S.BLOCKED, _S.NEEDS_REVIEW)
    on = replace(state, ending=None, status=_S.PENDING if rests else state.status, call=state.call + 1)
    on = replace(on, code=None, message="") if rests else on
    if state.stage is Stage.NEW or not was_at_work:
        moved = advance(on)
        return replace(moved, stage=Stage.NEW) if state.stage is Stage.NEW else moved
    return replace(on, stage=Stage.ANSWERED)


def rewound(state: State, to: str, says_more: bool) -> State:
    """Back to the beginning of a phase, whatever came of it and of those after it."""
    index = state.plan.index(to)
    if index is None:
        return state
    fresh = tuple(PhaseState(one.id) for one in state.phases[index:])
    back = reset_from(replace(state, phases=(*state.phases[:index], *fresh)), index, index)
    commits = [one.commit for one in state.phases[:index] if one.commit]
    commit = commits[-1] if commits else None
    back = replace(back, stage=Stage.NEW, commit=commit, tree="", reset_to=commit or state.base, merge=None)
    back = replace(back, ending=None, cancel=False, pause=False, code=None, message="", resumes_at=None)
    back = replace(back, warnings=(), signatures=(), retry_of="", asks_review=False, pr_url=None)
    back = replace(back, word=state.seq + 1 if says_more else 0, again=(), rebases=0, onto=None)
    return back if state.status is _S.IN_PROGRESS else replace(back, status=_S.PENDING)
