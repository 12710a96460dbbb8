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


def settle(row: TaskRow, standing: Standing, stopped: str = "") -> TaskBlocked | TaskReopened | None:
    """What has to be written of a task because of others: that it cannot begin, or can after all.

    `stopped` says why the pipeline that it is a part of does not go on.
    """
    if not row.after and not row.pipeline:
        return None
    reason = stopped or _lost(row, standing)
    if reason and row.status in EXECUTABLE and not state_of(row).cancel:
        return TaskBlocked(Code.DEPENDENCY_FAILED, reason)
    if not reason and row.status == TaskStatus.BLOCKED and state_of(row).code is Code.DEPENDENCY_FAILED:
        return TaskReopened(by="dependency")
    return None


def _lost(row: TaskRow, standing: Standing) -> str:
    lost = [task for task in row.after if standing.get(task, _GONE) in _LOST]
    if not lost or (row.after_any and len(lost) < len(row.after)):
        return ""
    return f"it comes after {lost[0]}, which is {standing.get(lost[0], _GONE)}"


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
