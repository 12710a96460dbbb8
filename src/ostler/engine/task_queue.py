"""Chooses the tasks that a run starts next."""

from __future__ import annotations

from collections.abc import Collection

from ostler.engine.dependencies import DONE, TaskStatuses
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import is_cancel_requested
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus

_CLOCK_STEP_SECONDS = 60.0  # tolerance for corrections of the system clock


def is_runnable(row: TaskRow, now: float) -> bool:
    """Return whether a run may start the task: it is new, due, left by a dead run, or to be cancelled."""
    status = row.status
    if status == TaskStatus.DEFERRED:
        return row.resumes_at is not None and (row.resumes_at <= now or _was_updated_in_future(row, now))
    if status in TERMINAL:
        return row.open
    if status in EXECUTABLE:
        return row.not_before is None or row.not_before <= now
    # The command that cancels a waiting task ends it too, unless it is killed before.
    return status == TaskStatus.IN_PROGRESS or is_cancel_requested(row)


def waits_for_dependency(row: TaskRow, statuses: TaskStatuses) -> bool:
    """Return whether the task may not start yet because of another one."""
    enough = TERMINAL if row.after_any else DONE
    return (
        bool(row.after) and row.status in EXECUTABLE and not enough.issuperset(map(statuses.get, row.after))
    )


def _was_updated_in_future(row: TaskRow, now: float) -> bool:
    """Return whether the clock was wrong when the task was deferred, so that its end is unreliable."""
    return row.updated_at > now + _CLOCK_STEP_SECONDS


def choose_tasks(
    board: list[TaskRow], taken: Collection[TaskId], free: int, now: float, statuses: TaskStatuses
) -> list[TaskId]:
    """Return up to `free` tasks: started ones first, then by priority, then by their place in the queue."""
    ready = [
        row
        for row in board
        if row.id not in taken and is_runnable(row, now) and not waits_for_dependency(row, statuses)
    ]
    ready.sort(key=lambda row: (row.status != TaskStatus.IN_PROGRESS, row.place))
    return [row.id for row in ready[: max(0, free)]]
