"""The task as it is now: as created, with its edits."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ostler.model.event import Record, TaskCreated, TaskEdited, TaskReopened
from ostler.model.task import Task


def find_current_task(records: Iterable[Record]) -> Task | None:
    """Return the task of its records, with edits and the options of retries; None without a first record."""
    versions = list_versions(records)
    return versions[-1] if versions else None


def list_versions(records: Iterable[Record]) -> list[Task]:
    """Return every version of a task, the current one last."""
    versions: list[Task] = []
    for record in records:
        match record.event:
            case TaskCreated() | TaskEdited():
                versions.append(record.event.task)
            case TaskReopened() as reopened if versions:
                versions.append(_apply_retry(versions[-1], reopened))
            case _:
                pass
    return versions


def _apply_retry(task: Task, reopened: TaskReopened) -> Task:
    budget = task.budget_usd if reopened.budget_usd is None else reopened.budget_usd
    return replace(
        task,
        budget_usd=budget,
        model=reopened.model or task.model,
        executor=reopened.executor or task.executor,
    )
