"""Tasks that come after others: what they wait for, and what becomes of them when that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskBlocked, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.rows import state_of
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus

Standing = Mapping[TaskId, str]
"""The status of each task that others come after; one that is not there is gone."""

DONE = frozenset({TaskStatus.COMPLETED, TaskStatus.APPROVED})
_GONE = "gone"
_LOST: frozenset[str] = (TERMINAL - DONE) | {_GONE}


def unmet(row: TaskRow, standing: Standing) -> tuple[TaskId, ...]:
    """Those of its dependencies that are not completed."""
    return tuple(task for task in row.after if standing.get(task) not in DONE)


def settle(row: TaskRow, standing: Standing) -> TaskBlocked | TaskReopened | None:
    """What has to be written of a task because of another one: that it cannot begin, or can after all."""
    if not row.after:
        return None
    lost = _first_lost(row, standing)
    if lost is not None and row.status in EXECUTABLE and not state_of(row).cancel:
        message = f"it comes after {lost}, which is {standing.get(lost, _GONE)}"
        return TaskBlocked(Code.DEPENDENCY_FAILED, message)
    if lost is None and row.status == TaskStatus.BLOCKED and state_of(row).code is Code.DEPENDENCY_FAILED:
        return TaskReopened(by="dependency")
    return None


def _first_lost(row: TaskRow, standing: Standing) -> TaskId | None:
    for task in row.after:
        if standing.get(task, _GONE) in _LOST:
            return task
    return None


def find_cycle(starts: Iterable[TaskId], after: Mapping[TaskId, tuple[TaskId, ...]]) -> list[TaskId]:
    """The way from a task back to itself, by what it comes after; empty when there is none."""
    path: list[TaskId] = []
    open_ones, cleared = set[TaskId](), set[TaskId]()
    left = [iter(starts)]
    while left:
        task = next(left[-1], None)
        if task is None:
            left.pop()
            if path:
                open_ones.discard(path[-1])
                cleared.add(path.pop())
        elif task in open_ones:
            return [*path[path.index(task) :], task]
        elif task not in cleared:
            path.append(task)
            open_ones.add(task)
            left.append(iter(after.get(task, ())))
    return []
