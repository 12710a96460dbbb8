"""Dependencies between tasks: what a task waits for, and what happens when that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskBlocked, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus

TaskStatuses = Mapping[TaskId, str]
"""The status of each task that others depend on; a missing task was deleted."""

DONE = frozenset({TaskStatus.COMPLETED, TaskStatus.APPROVED})
_DELETED = "deleted"
_FAILED: frozenset[str] = (TERMINAL - DONE) | {_DELETED}


def list_unmet(row: TaskRow, statuses: TaskStatuses) -> tuple[TaskId, ...]:
    """Return the dependencies that are not completed."""
    return tuple(task for task in row.after if statuses.get(task) not in DONE)


def find_dependency_event(
    row: TaskRow, statuses: TaskStatuses, stopped: str = ""
) -> TaskBlocked | TaskReopened | None:
    """Return the event that blocks or reopens a task because of others; None if nothing changes.

    `stopped` is the reason why the pipeline of the task was stopped; empty if it was not.
    """
    if not row.after and not row.pipeline:
        return None
    reason = stopped or _find_failed_dependency(row, statuses)
    if reason and row.status in EXECUTABLE and not decode_state(row).cancel_requested:
        return TaskBlocked(Code.DEPENDENCY_FAILED, reason)
    if not reason and row.status == TaskStatus.BLOCKED and decode_state(row).code is Code.DEPENDENCY_FAILED:
        return TaskReopened(by="dependency")
    return None


def _find_failed_dependency(row: TaskRow, statuses: TaskStatuses) -> str:
    failed = [task for task in row.after if statuses.get(task, _DELETED) in _FAILED]
    if not failed or (row.after_any and len(failed) < len(row.after)):
        return ""
    return f"it depends on {failed[0]}, which is {statuses.get(failed[0], _DELETED)}"


def find_cycle(starts: Iterable[TaskId], after: Mapping[TaskId, tuple[TaskId, ...]]) -> list[TaskId]:
    """Return a cycle of dependencies as a path; empty if there is none."""
    path: list[TaskId] = []
    on_path, checked = set[TaskId](), set[TaskId]()
    left = [iter(starts)]
    while left:
        task = next(left[-1], None)
        if task is None:
            left.pop()
            if path:
                on_path.discard(path[-1])
                checked.add(path.pop())
        elif task in on_path:
            return [*path[path.index(task) :], task]
        elif task not in checked:
            path.append(task)
            on_path.add(task)
            left.append(iter(after.get(task, ())))
    return []
