"""Finish: the event that ends a task, or lets it wait."""

from __future__ import annotations

from ostler.engine.core.step import Finish
from ostler.errors import Code
from ostler.model.event import (
    Event,
    TaskBlocked,
    TaskCancelled,
    TaskCompleted,
    TaskDeferred,
    TaskFailed,
    TaskPaused,
)
from ostler.model.state import State
from ostler.model.status import TaskStatus


def build_end_event(step: Finish, state: State) -> Event:
    ending = step.ending
    match ending.status:
        case TaskStatus.COMPLETED:
            return TaskCompleted(state.commit)
        case TaskStatus.CANCELLED:
            return TaskCancelled(ending.message)
        case TaskStatus.BLOCKED:
            return TaskBlocked(ending.code or Code.AGENT_BLOCKED, ending.message)
        case TaskStatus.PAUSED:
            return TaskPaused(ending.code, ending.message)
        case TaskStatus.DEFERRED:
            return TaskDeferred(ending.code or Code.RATE_LIMITED, ending.message, ending.resumes_at or 0.0)
        case _:
            return TaskFailed(ending.code or Code.UNKNOWN, ending.message)
