"""Reads the board of a driver from the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ostler.engine.board import Board, can_start, find_redone
from ostler.engine.dependencies import TaskStatuses
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.store.journal import Journal


def read_board(
    journal: Journal, every: Sequence[TaskRow], includes: Callable[[TaskRow], bool] = lambda _: True
) -> Board:
    """Return those of the tasks that a run includes, and read what they depend on."""
    rows = [row for row in every if includes(row)]
    runs = sorted({row.pipeline for row in rows if row.pipeline})
    started = (row for row in rows if row.seq > 1)
    return Board(
        rows,
        read_statuses(journal, every),
        read_predecessors(journal, started),
        journal.pipeline_rows(runs) if runs else (),
    )


def read_statuses(journal: Journal, rows: Iterable[TaskRow]) -> TaskStatuses:
    """Return the status of each task that these depend on."""
    rows = list(rows)
    needed = {task for row in rows for task in row.after}
    listed = {row.id: row.status for row in rows if row.id in needed}
    return listed | journal.statuses(needed - listed.keys()) if needed else {}


def read_predecessors(journal: Journal, rows: Iterable[TaskRow]) -> dict[TaskId, State]:
    """Return the states of the tasks that these depend on."""
    found = (journal.row(task) for task in sorted({task for row in rows for task in row.after}))
    states = [decode_state(row) for row in found if row is not None]
    return {state.task: state for state in states}


def is_startable(journal: Journal, task: TaskId, now: float) -> bool:
    """Return whether the task may start now, by the journal at this moment."""
    row = journal.row(task)
    return row is not None and can_start(
        row, now, read_statuses(journal, [row]), read_predecessors(journal, [row])
    )


def read_redone(journal: Journal, row: TaskRow) -> str:
    """Return why a started task has to wait for a task that it builds on; empty: it need not."""
    return find_redone(row, read_predecessors(journal, [row])) if row.after and row.seq > 1 else ""
