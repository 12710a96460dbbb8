"""Chooses the next step of a task."""

from __future__ import annotations

from typing import assert_never

from ostler.engine.core.hosts import is_elsewhere
from ostler.engine.core.moves import current_gate, merge_gate
from ostler.engine.core.publishing import find_checked_commit
from ostler.engine.core.requests import is_withdrawn, keep_completed
from ostler.engine.core.step import (
    CallAgent,
    CheckFinal,
    CheckGate,
    Checkpoint,
    Finish,
    PrepareWorkspace,
    Publish,
    ReleaseWorkspace,
    Step,
)
from ostler.errors import Code
from ostler.model.plan import MERGE
from ostler.model.state import Ending, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_PAUSED = Ending(TaskStatus.PAUSED, None, "paused by a person")
_COMPLETED = Ending(TaskStatus.COMPLETED)


def decide(state: State) -> Step | None:
    """Return the next step; None if the task is waiting or has ended."""
    if state.status not in TERMINAL:
        if state.cancel_requested and is_withdrawn(state):
            return _finish(state, _COMPLETED)
        if state.cancel_requested:
            reason = state.cancel_reason or "cancelled by a person"
            return _finish(state, Ending(TaskStatus.CANCELLED, Code.ABORTED, reason))
        if state.status is not TaskStatus.IN_PROGRESS:
            return None
        if state.ending is not None:
            return _finish(state, keep_completed(state, state.ending))
        if state.pause_requested:
            return _finish(state, _PAUSED)
    return step_for_stage(state)


def step_for_stage(state: State) -> Step | None:
    """Return the step of the current stage, regardless of requests to cancel or pause."""
    key, phase = _iteration_key(state), state.current.id
    if is_elsewhere(state):
        return PrepareWorkspace(state.task, f"{state.task}/{state.round}.{state.claims}/move")
    match state.stage:
        case Stage.NEW:
            return PrepareWorkspace(state.task, f"{state.task}/{state.round}.{state.claims}/prepare")
        case Stage.READY:
            return CallAgent(state.task, f"{key}/call", phase, state.iteration)
        case Stage.ITERATED:
            return Checkpoint(state.task, f"{key}/turn", phase, completes=False)
        case Stage.ANSWERED:
            return Checkpoint(state.task, f"{key}/checkpoint", phase, completes=True)
        case Stage.CHECKING:
            return CheckGate(
                state.task, f"{key}.{state.checks}/gate", phase, current_gate(state), state.commit
            )
        case Stage.FINAL:
            asked = state.final_gate if state.review_requested else ""
            return CheckFinal(state.task, f"{key}.{state.checks}/final", state.commit, asked)
        case Stage.MERGING:
            merge_key = f"{key}.{state.checks}/merge"
            return CheckGate(state.task, merge_key, MERGE, merge_gate(state), state.commit)
        case Stage.PUBLISHING:
            return Publish(state.task, f"{key}/publish", state.publishing, find_checked_commit(state))
        case Stage.DONE:
            return _finish(state, _COMPLETED)
        case Stage.ENDED:
            return ReleaseWorkspace(state.task, f"{state.task}/{state.round}/release")
        case Stage.CLOSED:
            return None
        case _:
            assert_never(state.stage)


def _finish(state: State, ending: Ending) -> Finish:
    return Finish(state.task, f"{_iteration_key(state)}/{ending.status}", ending)


def _iteration_key(state: State) -> str:
    return f"{state.task}/{state.round}.{state.current.id}.{state.iteration}.{state.call}"
