"""Decides what a driver does with the tasks on its board: block, reopen, cancel, start. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from ostler.engine.dependencies import TaskStatuses, find_dependency_event, find_redone_predecessor
from ostler.engine.pipeline import find_stop_reason
from ostler.engine.task_queue import choose_tasks, is_runnable, waits_for_dependency
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskBlocked, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state, is_cancel_requested
from ostler.model.state import State


class Board(Struct, frozen=True):
    """The tasks of a run that are not closed, and what they depend on, as read at one moment."""

    rows: Sequence[TaskRow]
    statuses: TaskStatuses  # of each task that these depend on
    predecessors: Mapping[TaskId, State]  # that tasks which were started depend on
    members: Sequence[TaskRow]  # all tasks of the pipeline runs of these, ended ones too

    def update(self, changed: Mapping[TaskId, TaskRow]) -> Board:
        """Return the board with these rows."""
        return replace(self, rows=[changed.get(row.id, row) for row in self.rows])


class Orders(Struct, frozen=True):
    """What to do; look at the board again after its events are written."""

    events: Sequence[tuple[TaskRow, TaskBlocked | TaskReopened]]  # of tasks that no run holds
    cancel: Sequence[tuple[TaskId, str]]  # running tasks, each with the reason
    start: Sequence[TaskId]  # in this order


def look_at(
    board: Board, now: float, running: Collection[TaskId], is_done: Callable[[TaskRow], bool] | None = None
) -> Orders:
    """Return what to do; tasks that are running, or that `is_done` excludes, are not started."""
    stopped = find_stopped_pipelines(board.members)
    reasons = {
        row.id: stopped.get(row.pipeline, "") or find_redone(row, board.predecessors) for row in board.rows
    }
    found = [(row, find_dependency_event(row, board.statuses, reasons[row.id])) for row in board.rows]
    cancel = [
        (row.id, stopped[row.pipeline])
        for row in board.rows
        if row.pipeline in stopped and row.id in running and not is_cancel_requested(row)
    ]
    taken = {row.id for row in board.rows if row.id in running or (is_done is not None and is_done(row))}
    return Orders(
        [(row, event) for row, event in found if event is not None],
        cancel,
        choose_tasks(list(board.rows), taken, len(board.rows), now, board.statuses),
    )


def find_stopped_pipelines(members: Iterable[TaskRow]) -> dict[str, str]:
    """Return the stopped pipeline runs of these tasks, each with the reason."""
    runs = groupby(sorted(members, key=_pipeline_run), key=_pipeline_run)
    reasons = {run: find_stop_reason(rows) for run, rows in runs}
    return {run: reason for run, reason in reasons.items() if reason}


def find_redone(row: TaskRow, predecessors: Mapping[TaskId, State]) -> str:
    """Return why a task has to wait for a task that it builds on; empty if it has not started."""
    if not row.after or row.seq == 1:
        return ""
    return find_redone_predecessor(decode_state(row), predecessors)


def can_start(row: TaskRow, now: float, statuses: TaskStatuses, predecessors: Mapping[TaskId, State]) -> bool:
    """Return whether the task may start now, for a last check when it is already locked."""
    return (
        is_runnable(row, now)
        and not waits_for_dependency(row, statuses)
        and not find_redone(row, predecessors)
    )


def has_pipeline_slot(task: TaskId, members: Mapping[TaskId, TaskRow], running: Iterable[TaskId]) -> bool:
    """Return whether one more task of the pipeline run may start beside those that are running."""
    row = members.get(task)
    if row is None or not row.pipeline:
        return True
    others = (members[one] for one in running if one in members and one != task)
    return sum(other.pipeline == row.pipeline for other in others) < row.max_parallel


def _pipeline_run(row: TaskRow) -> str:
    return row.pipeline
