"""The budget of a task."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.model.event import Record, TaskCreated, TaskReopened


def find_task_budget(records: Iterable[Record]) -> float | None:
    """Return the budget in dollars that was set last; None: the settings decide."""
    usd = None
    for record in records:
        match record.event:
            case TaskCreated(task=task):
                usd = task.budget_usd
            case TaskReopened(budget_usd=more) if more is not None:
                usd = more
            case _:
                pass
    return usd
