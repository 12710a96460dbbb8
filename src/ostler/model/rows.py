"""Conversion between a state and its row in the store."""

from __future__ import annotations

import msgspec

from ostler.model.attempt import TaskRow
from ostler.model.policy.needs import find_need
from ostler.model.state import Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(State).decode


def build_row(state: State) -> TaskRow:
    return TaskRow(
        id=state.task,
        seq=state.seq,
        status=state.status,
        title=state.title,
        priority=state.priority,
        created_at=state.created_at,
        updated_at=state.updated_at,
        state=_encode(state),
        resumes_at=state.resumes_at,
        open=state.stage is not Stage.CLOSED,
        after=state.after,
        not_before=state.not_before,
        after_any=state.after_any,
        pipeline=state.pipeline.run if state.pipeline else "",
        max_parallel=state.pipeline.max_parallel if state.pipeline else 0,
        cost_usd=state.cost_usd,
        archived_at=state.archived_at,
        need=_find_need(state),
        queued_at=state.queued_at,
        removed=state.removed_at is not None,
    )


def _find_need(state: State) -> str:
    """Return what the task needs from a person; nothing when it is hidden or about to be ended."""
    is_ending = state.cancel_requested and state.status not in TERMINAL
    if is_ending or state.archived_at is not None or state.has_no_files:
        return ""
    return find_need(state.status, state.code) or ""


def decode_state(row: TaskRow) -> State:
    return _decode(row.state)


def is_cancel_requested(row: TaskRow) -> bool:
    """Return whether a person cancelled the task, without decoding its state."""
    return b'"cancel_requested"' in row.state


def is_held(row: TaskRow) -> bool:
    """Return whether the task is a proposal that waits for a person, without decoding its state."""
    # The state before a decision, which can be taken back, is a part of the row too.
    return row.status == TaskStatus.NEEDS_REVIEW and b'"held":true' in row.state


def is_purged(row: TaskRow) -> bool:
    """Return whether the files of the task were deleted, without decoding its state."""
    return b'"purged_at"' in row.state
