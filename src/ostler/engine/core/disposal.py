"""Applies that a person archived, removed or purged a task."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.model.events.disposal import (
    DisposalEvent,
    TaskArchived,
    TaskPurged,
    TaskRemoved,
    TaskUnarchived,
)
from ostler.model.state import Stage, State


def apply_disposal(state: State, event: DisposalEvent, at: float) -> State:
    """Return the state with the time of the event; a purged task has no workspace any more."""
    match event:
        case TaskArchived():
            return replace(state, archived_at=at)
        case TaskUnarchived():
            return replace(state, archived_at=None)
        case TaskRemoved():
            return replace(state, removed_at=at, stage=Stage.CLOSED)
        case TaskPurged():
            return replace(state, purged_at=at, stage=Stage.CLOSED, worktree=None, left=None)
        case _:
            assert_never(event)
