"""Which step a task wants now."""

from __future__ import annotations

from typing import assert_never

from ostler.engine.core.step import CallAgent, Checkpoint, Finish, PrepareWorkspace, ReleaseWorkspace, Step
from ostler.errors import Code
from ostler.model.state import Ending, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_CANCELLED = Ending(TaskStatus.CANCELLED, Code.ABORTED, "cancelled by a person")
_COMPLETED = Ending(TaskStatus.COMPLETED)


def decide(state: State) -> Step | None:
    """The step wanted now; None when the task rests or has ended."""
    if state.status not in TERMINAL:
        if state.cancel:
            return _finish(state, _CANCELLED)
        if state.status is not TaskStatus.IN_PROGRESS:
            return None
        if state.ending is not None:
            return _finish(state, state.ending)
    return _by_stage(state)


def _by_stage(state: State) -> Step | None:
    match state.stage:
        case Stage.NEW:
            return PrepareWorkspace(state.task, f"{state.task}/{state.round}.{state.claims}/prepare")
        case Stage.READY:
            return CallAgent(state.task, f"{_place(state)}/call", state.current.id, state.iteration)
        case Stage.ANSWERED:
            return Checkpoint(state.task, f"{_place(state)}/checkpoint", state.current.id, completes=True)
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
