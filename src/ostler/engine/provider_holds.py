"""Tasks that are not started because no model of theirs may be called."""

from __future__ import annotations

from ostler.calls.models.availability import Unavailable
from ostler.engine.steps.services import StepServices
from ostler.errors import needs_account_fix
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus

# A task in one of these stages calls its agent next.
_CALLING = (Stage.NEW, Stage.READY, Stage.ITERATED)


def find_hold(state: State, services: StepServices) -> Unavailable | None:
    """Return why the task is not started: no model may be called, and it would only be deferred."""
    if state.stage not in _CALLING:
        return None
    hold = services.find_hold(state)
    is_deferred = state.status is TaskStatus.DEFERRED
    is_held = hold and (needs_account_fix(hold.code) or is_deferred or hold.reason == "held")
    return hold if is_held else None
