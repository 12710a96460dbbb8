"""Tasks that an agent creates from inside its own task: proposals, which wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.task import Task
from ostler.model.task_record import find_current_task
from ostler.project.running.current_attempt import CurrentAttempt

if TYPE_CHECKING:
    from ostler.config.settings import Settings
    from ostler.store.sql_journal import SqlJournal

_N = TypeVar("_N", int, float)
_HINT = "describe the work in your answer instead"


def check_proposal(task: Task, attempt: CurrentAttempt, settings: Settings, journal: SqlJournal) -> Task:
    """Return the task as a proposal of this attempt's task; raise UsageError above a limit."""
    run = settings.run
    rows = {row.id: row for row in journal.rows()}
    own = TaskId(attempt.task)
    if own not in rows:
        raise UsageError(
            f"{own} is not a task of this project", "an agent proposes tasks for its own project only"
        )
    authors = {name: decode_state(row).proposed_by for name, row in rows.items()}
    if _measure_depth(own, authors) > run.max_proposal_depth:
        message = f"{own} cannot propose tasks: run.max_proposal_depth is {run.max_proposal_depth}"
        raise UsageError(message, _HINT)
    if sum(author == own for author in authors.values()) >= run.max_proposals:
        message = f"{own} has proposed {run.max_proposals} tasks, which is run.max_proposals"
        raise UsageError(message, _HINT)
    # A setting can let proposals start without a person, who alone weakens the checks, raises a limit or
    # lets an agent work on other machines.
    return replace(
        task,
        proposed_by=own,
        sender=own,
        label=author.label if (author := find_current_task(journal.read(own))) else "",
        allow_test_changes=False,
        budget_usd=_limit(task.budget_usd, settings.budget.task_usd),
        timeout_seconds=_limit(task.timeout_seconds, run.timeout_seconds),
        max_retries=_limit(task.max_retries, settings.retry.max_retries),
    )


def _limit(wanted: _N | None, most: _N | None) -> _N | None:
    return wanted if wanted is None or most is None else min(wanted, most)


def _measure_depth(task: TaskId, authors: dict[TaskId, TaskId]) -> int:
    """Return the depth of a proposal of this task: 1 for a task that a person created."""
    depth = 1
    while task := authors.get(task, TaskId("")):
        depth += 1
    return depth
