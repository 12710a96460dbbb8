"""Work without any change: one more prompt states it, then a person decides."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import WarningCode
from ostler.model.state import Stage, State

_CHANGES_FILES = "implement"


def needs_review(state: State) -> bool:
    """Return whether a person has to decide on work that changes nothing, and has not yet."""
    return state.unchanged and WarningCode.NO_CHANGES not in state.warnings and not _is_approved(state)


def _is_approved(state: State) -> bool:
    """Return whether a person has approved this commit at a gate, whose request shows its size."""
    gates = (one.gate for one in state.phases)
    return any(gate is not None and gate.is_approved_by_person and gate.sha == state.commit for gate in gates)


def forget_no_changes(state: State) -> State:
    """Drop the warning: the files changed, or the work goes back to the agent."""
    kept = tuple(one for one in state.warnings if one != WarningCode.NO_CHANGES)
    return replace(state, warnings=kept)


def request_review(state: State) -> State:
    """Let a person decide at the next gate."""
    warnings = (*forget_no_changes(state).warnings, WarningCode.NO_CHANGES)
    return replace(state, review_requested=True, warnings=warnings)


def ask_for_changes(state: State) -> State | None:
    """Return the state after the commit of a phase that changed nothing; None if nothing special follows.

    The phase that changes files, or the last one, gets one more iteration, unless the agent has reported why
    there is nothing to change.
    """
    now = state.phases[state.phase]
    if not needs_review(state) or now.status == "skipped" or not _should_change_files(state):
        return None
    if state.review_requested or state.no_changes == "explained":
        return request_review(state)
    if state.no_changes or now.iterations >= state.max_iterations:
        return None
    return replace(state, no_changes="asked", stage=Stage.READY, call=1)


def _should_change_files(state: State) -> bool:
    later = state.phases[state.phase + 1 :]
    is_last = all(one.status in ("completed", "skipped") for one in later)
    return state.current.id == _CHANGES_FILES or is_last
