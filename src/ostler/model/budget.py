"""The budget of a task."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.model.event import Record
from ostler.model.task_record import find_current_task


def find_task_budget(records: Iterable[Record]) -> float | None:
    """Return the budget in dollars that was set last; None: the settings decide."""
    task = find_current_task(records)
    return None if task is None else task.budget_usd
