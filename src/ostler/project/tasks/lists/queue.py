"""The place of a task among the waiting ones, which a person can change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ostler.errors import UsageError
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.project import Project

_WAITING = (*EXECUTABLE, TaskStatus.DEFERRED)
_ENDS = ("first", "last")
_SIDES = ("before", "after")
_STEP = 1.0  # seconds between the first or last task and one that is moved there


def find_moves(project: Project, task: TaskId, where: str, priority: str) -> dict[TaskId, dict[str, Any]]:
    """Return the fields to change for each task, so that `task` gets this place.

    `where` is first, last, before:ID, after:ID, or empty for the place by age; beside a task of another
    priority, the task gets that one. Tasks of the same age are moved apart. Raises UsageError for any other
    place.
    """
    if not where:
        return {task: {"queued_at": None}}
    side, _, name = where.partition(":")
    if (side in _ENDS) == bool(name) or side not in (*_ENDS, *_SIDES):
        raise UsageError(
            f"invalid queue {where!r:.80}: expected first, last, before:ID or after:ID",
            f"ostler set {task} queue=first",
        )
    rows = [row for row in project.journal.open_rows() if row.status in _WAITING and row.id != task]
    if not name:
        return {task: {"queued_at": _find_end(rows, priority, is_first=side == "first")}}
    other = _find_other(project, rows, task, name)
    queue = sorted((row for row in rows if row.priority == other.priority), key=lambda row: row.place)
    at = queue.index(other) + (side == "after")
    return _make_room(queue, at, task, other.priority)


def _find_end(rows: Sequence[TaskRow], priority: str, *, is_first: bool) -> float | None:
    times = [row.place[1] for row in rows if row.priority == priority]
    if not times:
        return None
    return min(times) - _STEP if is_first else max(times) + _STEP


def _find_other(project: Project, rows: Sequence[TaskRow], task: TaskId, name: str) -> TaskRow:
    found = project.resolve(name)
    other = next((row for row in rows if row.id == found), None)
    if other is None:
        raise UsageError(f"{task} cannot be placed beside {found}, which does not wait", "ostler status")
    return other


def _make_room(
    queue: Sequence[TaskRow], at: int, task: TaskId, priority: str
) -> dict[TaskId, dict[str, Any]]:
    """Return the times of the task and of those behind it that have the same time as the one before."""
    before = queue[at - 1].place[1] if at else queue[0].place[1] - 2 * _STEP
    behind = [row for row in queue[at:] if row.place[1] <= before]
    rest = queue[at + len(behind) :]
    until = rest[0].place[1] if rest else before + _STEP * (len(behind) + 2)
    step = (until - before) / (len(behind) + 2)
    times = [before + step * (index + 1) for index in range(len(behind) + 1)]
    if any(one >= other for one, other in pairwise((before, *times, until))):
        raise UsageError(
            f"there is no room for {task} between two tasks of the same age",
            f"ostler set {task} queue=first",
        )
    moves: dict[TaskId, dict[str, Any]] = {task: {"queued_at": times[0], "priority": priority}}
    return moves | {row.id: {"queued_at": at} for row, at in zip(behind, times[1:], strict=True)}
