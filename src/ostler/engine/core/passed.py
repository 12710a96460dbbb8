"""The phases that a record completes, told beside it."""

from __future__ import annotations

from ostler.model.notice import PhaseCompleted
from ostler.model.state import State


def passed(before: State, after: State) -> tuple[PhaseCompleted, ...]:
    """One notice for each phase that is completed now and was not before: past its gate, by whatever way."""
    pairs = zip(before.phases, after.phases, strict=True)
    return tuple(
        PhaseCompleted(new.id, new.commit) for old, new in pairs if new.status == "completed" != old.status
    )
