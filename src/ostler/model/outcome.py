"""The result of a run for one task."""

from __future__ import annotations

from msgspec import Struct

from ostler.errors import CODES, Code
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, WAITS_FOR_PERSON, TaskStatus


class DiffStat(Struct, frozen=True):
    """The size of a change; a binary file counts as a file without lines."""

    files: int = 0
    insertions: int = 0
    deletions: int = 0


class Outcome(Struct, frozen=True):
    """The status of a task after a run; `exit` is the matching exit code of the process."""

    task_id: TaskId
    status: TaskStatus
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    resumes_at: float | None = None
    branch: str | None = None
    commit: str | None = None
    output_path: str | None = None  # of a document, below the project
    pr_url: str | None = None
    cost_usd: float | None = None  # none: unknown
    diffstat: DiffStat | None = None  # none: no commit, or not requested
    summary: str = ""  # the agent's last answer

    @property
    def exit(self) -> int:
        if self.status in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
            return 0
        if self.status in (TaskStatus.FAILED, TaskStatus.QUARANTINED):
            return 1
        if self.code in (Code.ITERATION_LIMIT, Code.BUDGET_EXCEEDED) or self.status is TaskStatus.DEFERRED:
            return 5
        if self.status in WAITS_FOR_PERSON or (self.status in EXECUTABLE and self.code is None):
            # An executable task without a code was not started because of its dependencies.
            return 4
        is_waiting = self.status in EXECUTABLE and self.code is not None
        return CODES[self.code].exit if self.code is not None and is_waiting else 1


_REFUSED = CODES[Code.USAGE].exit
_FIRST_THAT_APPLIES = (130, 143, 3, 1, 5, 4)


def combine_exit_codes(outcomes: list[Outcome]) -> int:
    """Return one exit code for several tasks."""
    seen = {outcome.exit for outcome in outcomes}
    return next((code for code in _FIRST_THAT_APPLIES if code in seen), 0)


def combine_with_holds(exit_code: int, has_held: bool) -> int:
    """Return the exit code of a run that did not start tasks because of limits."""
    return 5 if has_held and exit_code in (0, 4) else exit_code


def combine_with_refusal(exit_code: int, refused: bool) -> int:
    """Return the exit code of a run that refused tasks: a failure or an interrupt comes first."""
    return _REFUSED if refused and exit_code in (0, 4, 5) else exit_code
