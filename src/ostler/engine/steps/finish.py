"""Finish: the event that ends a task, or lets it wait."""

from __future__ import annotations

from ostler.engine.core.step import Finish
from ostler.errors import Code, is_task_failure
from ostler.model.event import (
    Event,
    TaskBlocked,
    TaskCancelled,
    TaskCompleted,
    TaskDeferred,
    TaskFailed,
    TaskHeld,
    TaskPaused,
)
from ostler.model.state import State
from ostler.model.status import TaskStatus


def build_end_event(step: Finish, state: State) -> Event:
    ending = step.ending
    match ending.status:
        case TaskStatus.COMPLETED:
            return TaskCompleted(state.commit, ending.message)
        case TaskStatus.CANCELLED:
            return TaskCancelled(ending.message)
        case TaskStatus.BLOCKED:
            return TaskBlocked(ending.code or Code.AGENT_BLOCKED, ending.message)
        case TaskStatus.PAUSED:
            return TaskPaused(ending.code, ending.message)
        case TaskStatus.DEFERRED:
            return TaskDeferred(ending.code or Code.RATE_LIMITED, ending.message, ending.resumes_at or 0.0)
        case TaskStatus.PENDING:
            return TaskHeld(ending.code or Code.AUTH_FAILED, ending.message)
        case _:
            code = ending.code or Code.UNKNOWN
            return TaskFailed(code, ending.message, is_task_failure(code))
