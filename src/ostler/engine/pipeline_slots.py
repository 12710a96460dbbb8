"""The lock of a task that a run starts, within the limit of its pipeline across all processes.

A task runs while its lock is held, by a run or by the keeper of an attempt. Counting these locks needs no
counter that a killed run could leave wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ostler.engine.steps.services import StepServices, lock_path
from ostler.files.lock import LockHandle, is_locked, try_lock
from ostler.files.lock_owner import describe_owner
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.waits import report_wait

_REPORT_AFTER_SECONDS = 1.0


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


class LockedTasks:
    """Prints once that this run waits for tasks which another process has locked."""

    def __init__(self, services: StepServices) -> None:
        self._services = services
        self._since: float | None = None  # None: nothing is waited for
        self._reported = False

    def check(self, locked: Sequence[TaskId], waits: bool) -> None:
        """Print what the run waits for, if it has waited for a second."""
        now = self._services.clock.monotonic()
        if not (locked and waits):
            self._since, self._reported = None, False
        elif self._since is None:
            self._since = now
        elif not self._reported and now - self._since >= _REPORT_AFTER_SECONDS:
            self._reported = True
            report_wait(self._describe(locked))

    def _describe(self, locked: Sequence[TaskId]) -> str:
        row = self._services.journal.row(locked[0])
        path = self._services.layout.in_place_lock if row is None else _lock_of(row, self._services)
        more = f" and {len(locked) - 1} more" if len(locked) > 1 else ""
        return f"waiting for {locked[0]}{more}: {describe_owner(path)} runs it"


def _lock_of(row: TaskRow, services: StepServices) -> Path:
    return lock_path(decode_state(row), services)


def _count_running(row: TaskRow, services: StepServices) -> int:
    """Return how many other tasks of the pipeline run are locked; the shared lock is no count."""
    others = (one for one in services.journal.pipeline_rows([row.pipeline]) if one.id != row.id and one.open)
    paths = {lock_path(decode_state(other), services) for other in others}
    return sum(is_locked(path) for path in paths - {services.layout.in_place_lock})
