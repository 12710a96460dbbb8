"""The iterations of a phase: applies the results of agent calls and checkpoints."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.hosts import HOST_RULES
from ostler.engine.core.left import add_details, set_left
from ostler.engine.core.moves import (
    REVIEW_RULES,
    add_warnings,
    can_retry,
    commits_phase,
    continue_after_checkpoint,
    send_back_for_retry,
    update_phase,
)
from ostler.engine.core.no_changes import ask_for_changes, forget_no_changes
from ostler.errors import Code
from ostler.model.event import CallEnded, CheckpointMade
from ostler.model.state import Ending, Stage, State
from ostler.model.status import TaskStatus


def apply_call_ended(state: State, event: CallEnded) -> State:
    """Return the state after an agent call."""
    updated = replace(
        state,
        session_id=event.session_id,
        answer=event.answer or state.answer,
        warnings=add_warnings(state, event.warnings),
        warning_details=add_details(state, event.warning_details),
        sandbox=event.sandbox or state.sandbox,
        permissions=event.permissions or state.permissions,
    )
    match event.verdict:
        case "complete" | "review":
            review = event.verdict == "review"
            if event.message:
                # Only a report has one: the reason why there may be nothing to change.
                updated = replace(updated, no_changes="explained")
            return _complete_iteration(replace(_clear_feedback(updated), review_requested=review))
        case "continue":
            return _continue_phase(update_phase(_clear_feedback(updated), "running", 1), event)
        case "blocked":
            return _apply_blocked(_clear_feedback(updated), event)
        case "failed":
            return _set_ending(updated, event, TaskStatus.FAILED, Code.UNKNOWN)
        case "deferred":
            return _set_ending(updated, event, TaskStatus.DEFERRED, Code.RATE_LIMITED)
        case "held":
            return _set_ending(updated, event, TaskStatus.PENDING, Code.AUTH_FAILED)
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
    if state.rules >= HOST_RULES:
        state = replace(state, delivered_seq=state.feedback_seq)
    return state if state.retry_of else replace(state, feedback_seq=0)


def _complete_iteration(state: State) -> State:
    """Continue with the checkpoint, or with the gate if a later phase commits the work."""
    if commits_phase(state):
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


def apply_checkpoint(state: State, event: CheckpointMade) -> State:
    """Return the state after a commit of the work."""
    committed = replace(state, commit=event.commit or state.commit, output=event.output or state.output)
    committed = replace(committed, tree=event.tree, unchanged=event.unchanged)
    committed = set_left(committed, event.left)
    if state.rules >= REVIEW_RULES and event.commit not in (None, state.commit):
        # Work that was sent back after it was published: nothing has the new commit yet.
        committed = replace(committed, published_into="")
    if not event.unchanged:
        committed = replace(forget_no_changes(committed), no_changes="")
    # After that, because a document that was not changed has this warning too.
    committed = replace(committed, warnings=add_warnings(committed, event.warnings))
    if state.stage is Stage.ITERATED:
        return replace(update_phase(committed, "running", 0, event.commit), stage=Stage.READY)
    now = state.phases[state.phase]
    status = now.status
    # A skip commits what is left after the last commit, which has counted its call.
    ended = 0 if status == "skipped" and now.commit else 1
    return _continue_with_changes(update_phase(committed, status, ended, event.commit))


def _continue_with_changes(state: State) -> State:
    """Continue with the gate; a phase that should change files and did not is repeated or reviewed first."""
    asked = ask_for_changes(state)
    if asked is not None and asked.stage is Stage.READY:
        return asked
    return continue_after_checkpoint(asked or state)
