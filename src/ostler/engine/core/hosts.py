"""A task that another host claims: its workspace is prepared there, and its stage continues."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.verdicts import enter_final_stage
from ostler.model.state import Stage, State

HOST_RULES = 5
"""From these rules on, the workspace of a task is prepared again on each host that claims it."""

# NEW prepares the workspace anyway; what is published needs it no more.
_NEEDS_NO_FILES = (Stage.NEW, Stage.DONE, Stage.ENDED, Stage.CLOSED)


def is_elsewhere(state: State) -> bool:
    """Return whether the next step needs a workspace that only another host has."""
    moved = state.rules >= HOST_RULES and state.host != state.workspace_host
    return moved and state.stage not in _NEEDS_NO_FILES


def apply_moved(state: State, is_rebased: bool) -> State:
    """Continue on the host that has just prepared the workspace."""
    match state.stage:
        case Stage.ITERATED | Stage.ANSWERED if state.phases[state.phase].status != "skipped":
            return _repeat_call(state)
        case Stage.MERGING | Stage.PUBLISHING if is_rebased:
            # The gates have not checked this commit.
            return enter_final_stage(state)
        case _:
            return state


def _repeat_call(state: State) -> State:
    """Make the last call again: no commit contains its work, which was on the other host."""
    repeated = replace(state, stage=Stage.READY, call=state.call + 1, answer="")
    return replace(repeated, feedback_seq=state.delivered_seq, review_requested=False, no_changes="")
