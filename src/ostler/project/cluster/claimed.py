"""Whether a run has claimed a task."""

from __future__ import annotations

from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.project.cluster.host import find_host_id
from ostler.store.sql_journal import SqlJournal


def is_claimed(task: TaskId, journal: SqlJournal, layout: Layout) -> bool:
    """Return whether a run has claimed the task, on this machine or another one."""
    return is_claimed_here(task, layout) or _is_claimed_elsewhere(task, journal, layout)


def is_claimed_here(task: TaskId, layout: Layout) -> bool:
    """Return whether a run on this machine, or a process that it left, has the task."""
    return is_locked(layout.lock(task)) or is_locked(layout.in_place_lock)


def _is_claimed_elsewhere(task: TaskId, journal: SqlJournal, layout: Layout) -> bool:
    """Return whether another host works on the task, or its worker was lost and is being replaced.

    Without a cluster, only the machine that runs the tasks sees whether its runs are alive.
    """
    row = journal.row(task)
    if row is None or row.status != TaskStatus.IN_PROGRESS:
        return False
    return (decode_state(row).host or journal.machine) not in ("", find_host_id(layout))
