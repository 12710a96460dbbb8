"""Conversion between a state and its row in the store."""

from __future__ import annotations

import msgspec

from ostler.model.attempt import TaskRow
from ostler.model.state import Stage, State

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
        removed=state.removed_at is not None,
    )


def decode_state(row: TaskRow) -> State:
    return _decode(row.state)


def is_cancel_requested(row: TaskRow) -> bool:
    """Return whether a person cancelled the task, without decoding its state."""
    return b'"cancel_requested"' in row.state


def is_purged(row: TaskRow) -> bool:
    """Return whether the files of the task were deleted, without decoding its state."""
    return b'"purged_at"' in row.state
