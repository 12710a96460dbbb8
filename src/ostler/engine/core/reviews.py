"""A completed task that a person sends back to its agent with a review."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.moves import send_back_for_person
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus


def reopen_for_review(state: State) -> State:
    """Return the state in which the agent continues on top of its last commit; later phases run again."""
    ended = replace(state, stage=Stage.MERGING, phase=len(state.phases) - 1, recheck_phases=())
    ended = replace(ended, publish_as=None, conflict_commit=None, ending=None, steps=0)
    ended = replace(ended, code=None, message="", resumes_at=None)
    ended = replace(ended, cancel_requested=False, cancel_reason="", pause_requested=False)
    back = send_back_for_person(replace(ended, unchanged=False, no_changes=""))
    # In a round of its own, as its workspace is prepared and released once more.
    return replace(back, status=TaskStatus.REVISION, stage=Stage.NEW, round=state.round + 1)
