"""Between a folded state and the row that the store keeps of it."""

from __future__ import annotations

import msgspec

from ostler.model.attempt import TaskRow
from ostler.model.state import Stage, State

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(State).decode


def row_of(state: State) -> TaskRow:
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
        at_once=state.pipeline.at_once if state.pipeline else 0,
        cost_usd=state.cost_usd,
    )


def state_of(row: TaskRow) -> State:
    return _decode(row.state)
