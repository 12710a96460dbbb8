"""The budget of a task, and which priorities wait when a share of the day's budget is spent."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf

from ostler.model.event import Record
from ostler.model.task import PRIORITIES, Priority
from ostler.model.task_record import find_current_task

# From this percentage of the day's budget on, tasks of this priority and below wait.
PRIORITY_LEVELS: tuple[tuple[int, Priority], ...] = ((100, "P0"), (95, "P1"), (90, "P2"), (80, "P3"))
_ROUNDING_USD = 1e-9


def find_task_budget(records: Iterable[Record]) -> float | None:
    """Return the budget in dollars that was set last; None: the settings decide."""
    task = find_current_task(records)
    return None if task is None else task.budget_usd


def is_share_spent(spent_usd: float, percent: int, limit_usd: float) -> bool:
    return spent_usd + _ROUNDING_USD >= limit_usd * percent / 100


def find_waiting_priority(spent_today_usd: float, day_usd: float) -> Priority | None:
    """Return the most urgent priority that waits for the next day; None: no task waits."""
    for percent, most_urgent in PRIORITY_LEVELS:
        if is_share_spent(spent_today_usd, percent, day_usd):
            return most_urgent
    return None


def is_waiting_for_budget(priority: str, spent_today_usd: float, day_usd: float) -> bool:
    """Return whether tasks of this priority wait for the next day."""
    urgent = find_waiting_priority(spent_today_usd, day_usd)
    return urgent is not None and PRIORITIES.index(priority) >= PRIORITIES.index(urgent)


def count_affordable(priority: str, spent_today_usd: float, day_usd: float, usd: float) -> float:
    """Return how many tasks of this cost start before tasks of the priority wait; not less than one."""
    percent = min(percent for percent, level in PRIORITY_LEVELS if level <= priority)
    left_usd = day_usd * percent / 100 - spent_today_usd
    return max(1.0, ceil((left_usd - _ROUNDING_USD) / usd)) if usd > 0 else inf
