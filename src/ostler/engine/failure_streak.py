"""Counts failures of different tasks in a row with one cause, after which a run starts no further task."""

from __future__ import annotations

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TaskStatus

_FAILED = (TaskStatus.FAILED, TaskStatus.QUARANTINED)
# A task that waits for its provider is no evidence about the others.
_NO_EVIDENCE = (TaskStatus.PENDING, TaskStatus.DEFERRED, TaskStatus.IN_PROGRESS, TaskStatus.CANCELLED)


class FailureStreak:
    """The failures of one run; `reason` is set when the run should start no further task."""

    def __init__(self) -> None:
        self._code: Code | None = None
        self._tasks: set[TaskId] = set()
        self.reason = ""

    def add(self, state: State, limit: int) -> None:
        """Count the end of a task; 0 is no limit."""
        if state.status in _NO_EVIDENCE:
            return
        if state.status not in _FAILED or state.code is not self._code:
            self._code, self._tasks = state.code, set()
        if state.status in _FAILED:
            self._tasks.add(state.task)
        if limit and len(self._tasks) >= limit:
            self.reason = (
                f"{len(self._tasks)} tasks in a row failed with {self._code}, so no further task is started "
                f"(run.stop_after_failures).  Next: ostler log {state.task}   and then   "
                f"ostler retry --code {self._code}"
            )
