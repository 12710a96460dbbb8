"""How a task stands after a run, for whoever asked for the run."""

from __future__ import annotations

from msgspec import Struct

from ostler.errors import CODES, Code
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, WAITS_FOR_PERSON, TaskStatus


class Outcome(Struct, frozen=True):
    """An ending is a value; `exit` is the process exit code that stands for it."""

    task_id: TaskId
    status: TaskStatus
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    resumes_at: float | None = None

    @property
    def exit(self) -> int:
        if self.status in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
            return 0
        if self.status in (TaskStatus.FAILED, TaskStatus.QUARANTINED):
            return 1
        if self.code in (Code.ITERATION_LIMIT, Code.BUDGET_EXCEEDED) or self.status is TaskStatus.DEFERRED:
            return 5
        if self.status in WAITS_FOR_PERSON or (self.status in EXECUTABLE and self.code is None):
            return 4  # the second: it was not begun, as something else comes first
        return CODES[self.code].exit if self.code is Code.INTERRUPTED else 1


_FIRST_THAT_APPLIES = (130, 143, 3, 1, 5, 4)


def exit_of_all(outcomes: list[Outcome]) -> int:
    """One exit code for several tasks."""
    seen = {outcome.exit for outcome in outcomes}
    return next((code for code in _FIRST_THAT_APPLIES if code in seen), 0)
