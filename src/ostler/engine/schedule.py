"""Which tasks a run takes next."""

from __future__ import annotations

from collections.abc import Collection

from ostler.engine.dependencies import DONE, Standing
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus

_STEP_SECONDS = 60.0  # a clock that is corrected by less than this is no surprise


def takeable(row: TaskRow, now: float) -> bool:
    """Whether a run may take a task by itself: new work, what came due, what a dead run left undone."""
    status = row.status
    if status == TaskStatus.DEFERRED:
        return row.resumes_at is not None and (row.resumes_at <= now or _began_in_the_future(row, now))
    if status in TERMINAL:
        return row.open
    if status in EXECUTABLE:
        return row.not_before is None or row.not_before <= now
    return status == TaskStatus.IN_PROGRESS


def held_back(row: TaskRow, standing: Standing) -> bool:
    """Whether it may not be begun yet: another task comes first."""
    enough = TERMINAL if row.after_any else DONE
    return (
        bool(row.after) and row.status in EXECUTABLE and not enough.issuperset(map(standing.get, row.after))
    )


def _began_in_the_future(row: TaskRow, now: float) -> bool:
    """The clock was wrong when the task went to rest, so its end means nothing."""
    return row.updated_at > now + _STEP_SECONDS


def choose(
    board: list[TaskRow], taken: Collection[TaskId], free: int, now: float, standing: Standing
) -> list[TaskId]:
    """Up to `free` tasks, those begun first, then by priority, then by age."""
    ready = [
        row for row in board if row.id not in taken and takeable(row, now) and not held_back(row, standing)
    ]
    ready.sort(key=lambda row: (row.status != TaskStatus.IN_PROGRESS, row.priority, row.created_at, row.id))
    return [row.id for row in ready[: max(0, free)]]
