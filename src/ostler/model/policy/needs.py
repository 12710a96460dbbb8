"""What a task needs from a person."""

from __future__ import annotations

from typing import Literal, get_args

from ostler.errors import Code
from ostler.model.status import TaskStatus

Need = Literal["question", "review", "failed", "paused"]
"""An answer, a decision about work, a repair and a retry; paused: nothing, the person paused it."""

NEEDS: tuple[Need, ...] = get_args(Need)
URGENT: tuple[Need, ...] = ("question", "review", "failed")

_S = TaskStatus
_GATE_CODES = frozenset({Code.GATE_REJECTED, Code.GATE_UNRUNNABLE})
_BROKEN_CODES = frozenset({Code.DEPENDENCY_FAILED, Code.TASK_NOT_EXECUTABLE})
_OPEN_QUESTIONS = frozenset({Code.ITERATION_LIMIT, Code.NEEDS_INPUT, Code.AGENT_BLOCKED, Code.STUCK})


def find_need(status: TaskStatus, code: Code | None) -> Need | None:
    """Return what a task with this status and code needs from a person; None: nothing."""
    match status:
        case _S.NEEDS_REVIEW:
            return "review"
        case _S.BLOCKED:
            if code in _GATE_CODES:
                return "review"
            return "failed" if code in _BROKEN_CODES else "question"
        case _S.PAUSED:
            if code is None:
                return "paused"
            return "question" if code in _OPEN_QUESTIONS else "failed"
        case _S.FAILED | _S.QUARANTINED:
            return "failed"
        case _:
            return None
