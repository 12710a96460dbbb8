"""Which step a task wants now."""

from __future__ import annotations

from typing import assert_never

from ostler.engine.core.moves import gate_of
from ostler.engine.core.publishing import judged
from ostler.engine.core.step import (
    MERGE,
    CallAgent,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
    Step,
)
from ostler.errors import Code
from ostler.model.state import Ending, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_PAUSED = Ending(TaskStatus.PAUSED, None, "paused by a person")
_COMPLETED = Ending(TaskStatus.COMPLETED)


def decide(state: State) -> Step | None:
    """The step wanted now; None when the task rests or has ended."""
    if state.status not in TERMINAL:
        if state.cancel:
            reason = state.cancelled_for or "cancelled by a person"
            return _finish(state, Ending(TaskStatus.CANCELLED, Code.ABORTED, reason))
        if state.status is not TaskStatus.IN_PROGRESS:
            return None
        if state.ending is not None:
            return _finish(state, state.ending)
        if state.pause:
            return _finish(state, _PAUSED)
    return wanted_by_stage(state)


def wanted_by_stage(state: State) -> Step | None:
    """The step of the work itself, whatever a person has said meanwhile."""
    place, phase = _place(state), state.current.id
    match state.stage:
        case Stage.NEW:
            return PrepareWorkspace(state.task, f"{state.task}/{state.round}.{state.claims}/prepare")
        case Stage.READY:
            return CallAgent(state.task, f"{place}/call", phase, state.iteration)
        case Stage.TURNED:
            return Checkpoint(state.task, f"{place}/turn", phase, completes=False)
        case Stage.ANSWERED:
            return Checkpoint(state.task, f"{place}/checkpoint", phase, completes=True)
        case Stage.CHECKING:
            return CheckGate(state.task, f"{place}.{state.checks}/gate", phase, gate_of(state), state.commit)
        case Stage.MERGING:
            key = f"{place}.{state.checks}/merge"
            return CheckGate(state.task, key, MERGE, state.plan.merge_gate, state.commit)
        case Stage.PUBLISHING:
            return Publish(state.task, f"{place}/publish", state.plan.publish, judged(state))
        case Stage.DONE:
            return _finish(state, _COMPLETED)
        case Stage.ENDED:
            return ReleaseWorkspace(state.task, f"{state.task}/{state.round}/release")
        case Stage.CLOSED:
            return None
        case _:
            assert_never(state.stage)


def _finish(state: State, ending: Ending) -> Finish:
    return Finish(state.task, f"{_place(state)}/{ending.status}", ending)


def _place(state: State) -> str:
    return f"{state.task}/{state.round}.{state.current.id}.{state.iteration}.{state.call}"
