"""The status of a task, older spellings, and the allowed transitions."""

from __future__ import annotations

from enum import StrEnum


class TaskStatus(StrEnum):
    PENDING = "pending"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    PAUSED = "paused"
    NEEDS_REVIEW = "needs_review"
    REVISION = "revision"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    COMPLETED = "completed"
    APPROVED = "approved"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


_S = TaskStatus

TERMINAL = frozenset({_S.COMPLETED, _S.APPROVED, _S.FAILED, _S.QUARANTINED, _S.CANCELLED, _S.ABANDONED})
EXECUTABLE = frozenset({_S.PENDING, _S.ASSIGNED, _S.REVISION})  # C82: a run may start these
WAITS_FOR_PERSON = frozenset({_S.PAUSED, _S.NEEDS_REVIEW, _S.BLOCKED})
REOPENABLE = frozenset(
    {_S.FAILED, _S.QUARANTINED, _S.CANCELLED, _S.ABANDONED, _S.BLOCKED, _S.PAUSED, _S.DEFERRED}
)

# The statuses that may follow each status. A terminal status is left only by reopening the task. A task that
# waits becomes completed when a person withdraws the request to merge it.
TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    _S.PENDING: frozenset(
        {_S.ASSIGNED, _S.IN_PROGRESS, _S.PAUSED, _S.BLOCKED, _S.CANCELLED, _S.FAILED, _S.COMPLETED}
    ),
    _S.ASSIGNED: frozenset({_S.PENDING, _S.IN_PROGRESS, _S.PAUSED, _S.BLOCKED, _S.CANCELLED, _S.FAILED}),
    _S.IN_PROGRESS: frozenset(_S) - {_S.IN_PROGRESS, _S.ASSIGNED, _S.APPROVED},
    _S.PAUSED: frozenset({_S.PENDING, _S.IN_PROGRESS, _S.CANCELLED, _S.ABANDONED, _S.COMPLETED}),
    _S.NEEDS_REVIEW: frozenset(
        {_S.IN_PROGRESS, _S.PENDING, _S.REVISION, _S.APPROVED, _S.BLOCKED, _S.CANCELLED, _S.COMPLETED}
    ),
    _S.REVISION: frozenset(
        {_S.PENDING, _S.ASSIGNED, _S.IN_PROGRESS, _S.PAUSED, _S.BLOCKED, _S.CANCELLED, _S.FAILED}
    ),
    _S.BLOCKED: frozenset(
        {_S.PENDING, _S.REVISION, _S.IN_PROGRESS, _S.CANCELLED, _S.ABANDONED, _S.COMPLETED}
    ),
    _S.DEFERRED: frozenset({_S.PENDING, _S.IN_PROGRESS, _S.PAUSED, _S.CANCELLED, _S.FAILED, _S.COMPLETED}),
    _S.COMPLETED: frozenset({_S.APPROVED, _S.REVISION, _S.PENDING}),
    _S.APPROVED: frozenset(),
    _S.FAILED: frozenset({_S.PENDING}),
    _S.QUARANTINED: frozenset({_S.PENDING}),
    _S.CANCELLED: frozenset({_S.PENDING}),
    _S.ABANDONED: frozenset({_S.PENDING}),
}

SPELLINGS = {
    "in-progress": _S.IN_PROGRESS,
    "running": _S.IN_PROGRESS,
    "in_review": _S.NEEDS_REVIEW,
    "in-review": _S.NEEDS_REVIEW,
    "created": _S.PENDING,
    "planned": _S.PENDING,
    "done": _S.COMPLETED,
    "abandoned": _S.CANCELLED,
}


def read_status(text: str) -> TaskStatus:
    """Return the status with this name or older spelling; raise ValueError for any other text."""
    return SPELLINGS.get(text) or TaskStatus(text)


def may_become(now: TaskStatus, then: TaskStatus) -> bool:
    return then in TRANSITIONS[now]
