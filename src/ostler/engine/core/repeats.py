"""Bounds the steps of a task and the failures of one step, whatever a performer returns."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.requests import describe_failed_request, is_publication_only
from ostler.engine.core.step import Finish, ReleaseWorkspace, Step
from ostler.errors import Code, is_task_failure
from ostler.model.event import (
    Event,
    StepFailed,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    WorkspaceReleased,
)
from ostler.model.state import Ending, Stage, State
from ostler.model.status import TaskStatus

MAX_STEP_FAILURES = 8  # of one step key; the last one ends the task
_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.1, 5.0


def count_failure(state: State, key: str) -> State:
    """Return the state with one more failure of this step; another step starts at one."""
    failures = count_failures(state, key) + 1
    return replace(state, failed_step=key, step_failures=failures)


def count_step(state: State) -> State:
    """Return the state with one more step; a task that used all of them is paused before its next call."""
    counted, limit = replace(state, steps=state.steps + 1), state.plan.max_steps
    is_over = limit > 0 and counted.steps >= limit and state.stage is Stage.READY
    if not is_over or state.ending is not None or state.status is not TaskStatus.IN_PROGRESS:
        return counted
    message = f"the task used all {limit} steps of phases.max_steps in {state.current.id}"
    return replace(counted, ending=Ending(TaskStatus.PAUSED, Code.ITERATION_LIMIT, message))


def count_failures(state: State, key: str) -> int:
    return state.step_failures if state.failed_step == key else 0


def find_delay(state: State, step: Step) -> float:
    """Return the seconds to wait before a step that failed is performed again."""
    failures = count_failures(state, step.key)
    return min(_FIRST_DELAY_SECONDS * 2 ** (failures - 1), _MAX_DELAY_SECONDS) if failures else 0.0


def bound_failures(state: State, step: Step, event: Event) -> Event:
    """Return the event to record: the last allowed failure of a step becomes the end of what it is for."""
    if not isinstance(event, StepFailed) or count_failures(state, step.key) + 1 < MAX_STEP_FAILURES:
        return event
    match step:
        case ReleaseWorkspace():
            where = f"its worktree {state.worktree}" if state.worktree else "its workspace"
            return WorkspaceReleased(kept=True, warning=f"{where} is kept: {event.message}")
        case Finish(ending=ending) if ending.status is TaskStatus.COMPLETED:
            return TaskCompleted(state.commit, ending.message)
        case Finish(ending=ending) if ending.status is TaskStatus.CANCELLED:
            return TaskCancelled(ending.message)
        case _:
            message = f"{_name(step)} failed {MAX_STEP_FAILURES} times: {event.code} {event.message}"
            if is_publication_only(state):
                return TaskCompleted(state.commit, describe_failed_request(Code.STEP_REPEATS, message))
            return TaskFailed(Code.STEP_REPEATS, message, is_task_failure(event.code))


def _name(step: Step) -> str:
    return step.key.rpartition("/")[2]
