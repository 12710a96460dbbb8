"""A person's requests about completed work: merge, publish or rebase it; and taking a decision back."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.event import (
    MERGE_REQUEST,
    PUBLISH_REQUEST,
    REBASE_REQUEST,
    RETARGET_REQUEST,
    DecisionRecorded,
    TaskReopened,
)
from ostler.model.plan import PublishAs
from ostler.model.state import CompletedWork, Ending, Stage, State
from ostler.model.status import TaskStatus

NOT_PUBLISHED = "the request to publish it failed"
WITHDRAWN = "the request to publish it was cancelled; nothing was merged"

UNDO_RULES = 6
"""From these rules on, the state keeps the one before a decision until something else is recorded."""

PUBLISH_AGAIN: dict[str, PublishAs] = {
    MERGE_REQUEST: "merge",
    PUBLISH_REQUEST: "pr",
    REBASE_REQUEST: "rebase",
    RETARGET_REQUEST: "pr",
}
"""What the requests about completed work ask for."""

_AGENT_STAGES = (Stage.READY, Stage.ITERATED, Stage.ANSWERED)


def reopen_to_publish(state: State, how: PublishAs) -> State:
    """Return a completed task to its publication; no phase runs again."""
    completed = CompletedWork(
        state.commit, state.base, state.tree, state.phases, state.gates, state.merge, state.warnings
    )
    again = replace(state, status=TaskStatus.PENDING, stage=Stage.NEW, round=state.round + 1, call=1)
    again = replace(again, publish_as=how, completed=completed)
    return replace(again, rebases=0, recheck_phases=(), conflict_commit=None)


def is_withdrawn(state: State) -> bool:
    """Return whether a cancelled task is only waiting to be published: its work is completed."""
    return state.cancel_requested and state.completed is not None


def is_publication_only(state: State) -> bool:
    """Return whether the task is only to be published: its work is completed and no agent changes it."""
    return state.completed is not None and state.stage not in _AGENT_STAGES


def describe_failed_request(code: Code | None, message: str) -> str:
    """Return the message of a completed task whose publication failed."""
    return f"{NOT_PUBLISHED}: {code or Code.UNKNOWN} {message}"


def keep_completed(state: State, ending: Ending) -> Ending:
    """Return the ending; a failure to publish completed work does not make the work fail."""
    if ending.status is not TaskStatus.FAILED or not is_publication_only(state):
        return ending
    return Ending(TaskStatus.COMPLETED, message=describe_failed_request(ending.code, ending.message))


def keep_undoable(before: State, after: State, event: object) -> State:
    """Return the state with the one before it if the event is a decision that a person can take back."""
    previous = None
    if after.rules >= UNDO_RULES and _can_be_undone(event) and after != before:
        previous = replace(before, undoable=None)
    return after if after.undoable is previous else replace(after, undoable=previous)


def _can_be_undone(event: object) -> bool:
    if isinstance(event, TaskReopened):
        return event.by in PUBLISH_AGAIN
    return isinstance(event, DecisionRecorded) and event.verb == "approve"


def undo_decision(state: State) -> State:
    """Return the state before the last decision; the same state if no decision can be taken back."""
    return state if state.undoable is None else state.undoable


def withdraw_request(state: State) -> State:
    """Return to the completed work; a rebase and the verdicts about it are dropped."""
    done = state.completed
    assert done is not None
    back = replace(state, commit=done.commit, base=done.base, tree=done.tree, phases=done.phases)
    back = replace(back, gates=done.gates, merge=done.merge, warnings=done.warnings)
    back = replace(back, publish_as=None, completed=None, cancel_requested=False, cancel_reason="")
    back = replace(back, pause_requested=False, review_requested=False, final_gate="", feedback_seq=0)
    moved = state.commit != done.commit
    return replace(back, rebases=0, conflict_commit=None, reset_to=done.commit if moved else None)
