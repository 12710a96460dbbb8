"""The money of a run: asked before every attempt, whatever the model and however often it was tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ostler.clock import Clock
from ostler.config.settings import BudgetSettings
from ostler.model.ids import TaskId
from ostler.model.task import Priority
from ostler.store.spending import Spent, next_day_start
from ostler.worker.budget import Go, Stop, Verdict, budget_for, check


class Sums(Protocol):
    """Knows what the attempts so far cost."""

    def spent_on(self, task: TaskId) -> Spent: ...

    def spent_today(self, now: float) -> Spent: ...


class Purse:
    """Knows what was spent; the sums are read only where there is a limit to them."""

    def __init__(self, settings: BudgetSettings, clock: Clock, sums: Callable[[], Sums]) -> None:
        self._settings = settings
        self._clock = clock
        self._sums = sums

    def check(self, task: TaskId, priority: Priority, own_usd: float | None) -> Verdict:
        """Whether the next attempt may be made."""
        budget = budget_for(own_usd, self._settings)
        if budget.task_usd is None and budget.day_usd is None:
            return Go()
        sums = self._sums()
        on_task = Spent() if budget.task_usd is None else sums.spent_on(task)
        today = Spent() if budget.day_usd is None else sums.spent_today(self._clock.now())
        return check(on_task, today, priority, budget)

    def refilled_at(self, stop: Stop) -> float | None:
        """When there is money again by itself: tomorrow, for a task that only gave way to others."""
        gives_way = stop.which == "day" and stop.percent < 100
        return next_day_start(self._clock.now()) if gives_way else None
