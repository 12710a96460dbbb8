"""Checks the budget of a task and of the day before every attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.spending.prices import calculate_cost, highest_price
from ostler.clock import Clock
from ostler.config.settings import BudgetSettings
from ostler.executors.protocol import Executor
from ostler.model.ids import TaskId
from ostler.model.policy.budget import PRIORITY_LEVELS, is_share_spent
from ostler.model.task import PRIORITIES, Priority
from ostler.model.usage import Usage
from ostler.store.spending import SpentAmount, next_day_start

BudgetScope = Literal["task", "day"]

WARN_PERCENT = 80
_NOTHING = SpentAmount()


class Budget(Struct, frozen=True):
    """The most that may be spent; None: no limit."""

    task_usd: float | None = None
    day_usd: float | None = None


class Allowed(Struct, frozen=True, tag=True):
    """The attempt may be made."""


class BudgetWarning(Struct, frozen=True, tag=True):
    """The attempt may be made, but the budget is almost used up."""

    scope: BudgetScope
    percent: int  # the level that is reached
    spent: SpentAmount
    limit_usd: float

    @property
    def message(self) -> str:
        budget = _describe_budget(self.scope, self.limit_usd)
        return _add_unknown_costs(f"{self.percent} % of {budget} are spent", self.spent)


class BudgetExceeded(Struct, frozen=True, tag=True):
    """The attempt may not be made."""

    scope: BudgetScope
    percent: int  # the level that is reached; below 100 only low priorities wait
    spent: SpentAmount
    limit_usd: float
    priority: Priority

    @property
    def message(self) -> str:
        budget, spent = _describe_budget(self.scope, self.limit_usd), _format_dollars(self.spent.usd)
        if self.percent < 100:
            message = f"{self.priority} waits: {self.percent} % of {budget} are spent ({spent})"
        else:
            message = f"{budget} is used up: {spent} spent"
        return _add_unknown_costs(message, self.spent)


BudgetDecision = Allowed | BudgetWarning | BudgetExceeded


class SpendingTotals(Protocol):
    """Returns the cost of the attempts so far."""

    def spent_on(self, task: TaskId) -> SpentAmount: ...

    def spent_today(self, now: float) -> SpentAmount: ...


class BudgetGuard:
    """Checks the budgets of a run; totals are read only if there is a limit."""

    def __init__(self, settings: BudgetSettings, clock: Clock, totals: Callable[[], SpendingTotals]) -> None:
        self._settings = settings
        self._clock = clock
        self._totals = totals

    def check(
        self,
        task: TaskId,
        priority: Priority,
        task_budget_usd: float | None,
        settings: BudgetSettings | None = None,
        running: SpentAmount = _NOTHING,
    ) -> BudgetDecision:
        """Return whether the next attempt may be made; `settings`: as they are now.

        `running`: what an attempt has spent that is not recorded yet.
        """
        budget = resolve_budget(task_budget_usd, settings or self._settings)
        if budget.task_usd is None and budget.day_usd is None:
            return Allowed()
        totals = self._totals()
        on_task = SpentAmount() if budget.task_usd is None else totals.spent_on(task)
        today = SpentAmount() if budget.day_usd is None else totals.spent_today(self._clock.now())
        return check_budget(add_estimate(on_task + running), add_estimate(today + running), priority, budget)

    def explain_unenforceable(
        self, executor: Executor, task_budget_usd: float | None, settings: BudgetSettings | None = None
    ) -> str:
        """Return why a budget cannot be enforced for an agent; empty if it can, or if there is none."""
        budget = resolve_budget(task_budget_usd, settings or self._settings)
        limits = (("task", budget.task_usd), ("day", budget.day_usd))
        limit = next(((scope, usd) for scope, usd in limits if usd is not None), None)
        can = executor.capabilities
        if limit is None or can.reports_cost or can.reports_usage:
            return ""
        return (
            f"the {limit[0]}'s budget of {_format_dollars(limit[1])} cannot be enforced: {executor.name} "
            "reports neither its cost nor its tokens; remove the budget, or use another agent"
        )

    def resumes_at(self, exceeded: BudgetExceeded, settings: BudgetSettings | None = None) -> float | None:
        """Return when the task continues without a person: tomorrow, if the day's budget is used."""
        is_failure = (settings or self._settings).on_exceed == "fail" and exceeded.percent >= 100
        waits = exceeded.scope == "day" and not is_failure
        return next_day_start(self._clock.now()) if waits else None


def add_estimate(spent: SpentAmount) -> SpentAmount:
    """Return the amount with the tokens of unknown price, at the highest price of the list."""
    if spent.unpriced == Usage():
        return spent
    return replace(spent, usd=spent.usd + calculate_cost(spent.unpriced, highest_price()))


def resolve_budget(task_budget_usd: float | None, settings: BudgetSettings) -> Budget:
    """Return the task's own budget, or that of the settings."""
    return Budget(settings.task_usd if task_budget_usd is None else task_budget_usd, settings.day_usd)


def check_budget(
    spent_task: SpentAmount, spent_day: SpentAmount, priority: Priority, budget: Budget
) -> BudgetDecision:
    """Return the strictest decision; the task's budget is checked before the day's.

    The cost of an attempt is known when it has ended, so each running agent can exceed a budget by one call.
    """
    decisions = (_check_task(spent_task, priority, budget), _check_day(spent_day, priority, budget))
    exceeded = [decision for decision in decisions if isinstance(decision, BudgetExceeded)]
    warnings = [decision for decision in decisions if isinstance(decision, BudgetWarning)]
    return next(iter((*exceeded, *warnings)), Allowed())


def _check_task(spent: SpentAmount, priority: Priority, budget: Budget) -> BudgetDecision:
    limit = budget.task_usd
    if limit is None:
        return Allowed()
    if _is_reached(spent, 100, limit):
        return BudgetExceeded("task", 100, spent, limit, priority)
    if _is_reached(spent, WARN_PERCENT, limit):
        return BudgetWarning("task", WARN_PERCENT, spent, limit)
    return _warn_of_estimate("task", spent, limit)


def _check_day(spent: SpentAmount, priority: Priority, budget: Budget) -> BudgetDecision:
    limit = budget.day_usd
    if limit is None:
        return Allowed()
    for percent, most_urgent in PRIORITY_LEVELS:
        if _is_reached(spent, percent, limit):
            if PRIORITIES.index(priority) >= PRIORITIES.index(most_urgent):
                return BudgetExceeded("day", percent, spent, limit, priority)
            return BudgetWarning("day", percent, spent, limit)
    return _warn_of_estimate("day", spent, limit)


def _warn_of_estimate(scope: BudgetScope, spent: SpentAmount, limit: float) -> BudgetDecision:
    """Return a warning when the budget is checked with an estimate."""
    if spent.unpriced == Usage() or not limit:
        return Allowed()
    return BudgetWarning(scope, int(100 * spent.usd / limit), spent, limit)


def _is_reached(spent: SpentAmount, percent: int, limit: float) -> bool:
    return is_share_spent(spent.usd, percent, limit)


def _describe_budget(scope: BudgetScope, limit: float) -> str:
    return f"the {scope}'s budget of {_format_dollars(limit)}"


def _format_dollars(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def describe_unknown_costs(attempts: int) -> str:
    """Return a note on the attempts that a total does not include."""
    subject = "1 attempt of unknown cost is" if attempts == 1 else f"{attempts} attempts of unknown cost are"
    return f"{subject} not in this sum"


def _add_unknown_costs(message: str, spent: SpentAmount) -> str:
    if spent.unpriced != Usage():
        note = "tokens of unknown price are estimated at the highest listed price; set [prices] for the model"
        return f"{message}; {note}"
    return f"{message}; {describe_unknown_costs(spent.unknown)}" if spent.unknown else message
