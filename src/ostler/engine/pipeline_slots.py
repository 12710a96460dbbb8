"""The lock of a task that a run starts, within the limit of its pipeline across all processes.

A task runs while its lock is held, by a run or by the keeper of an attempt. Counting these locks needs no
counter that a killed run could leave wrong.
"""

from __future__ import annotations

from ostler.engine.steps.services import StepServices, lock_path
from ostler.files.lock import LockHandle, is_locked, try_lock
from ostler.model.attempt import TaskRow
from ostler.model.rows import decode_state


def try_lock_task(row: TaskRow, services: StepServices) -> LockHandle | None:
    """Lock the task; return None if another run has it, or if its pipeline runs as many tasks as it may."""
    path = lock_path(decode_state(row), services)
    if not row.pipeline:
        return try_lock(path, retry=False)
    guard = try_lock(services.layout.pipeline_lock(row.pipeline))
    if guard is None:
        return None  # another run counts at this moment
    with guard:
        has_slot = _count_running(row, services) < row.max_parallel
        return try_lock(path) if has_slot else None


def _count_running(row: TaskRow, services: StepServices) -> int:
    """Return how many other tasks of the pipeline run are locked; the shared lock is no count."""
    others = (one for one in services.journal.pipeline_rows([row.pipeline]) if one.id != row.id and one.open)
    paths = {lock_path(decode_state(other), services) for other in others}
    return sum(is_locked(path) for path in paths - {services.layout.in_place_lock})
