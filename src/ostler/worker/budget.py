"""May the next attempt be made? Asked before every one, whatever the model and however often it was tried."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.config.settings import BudgetSettings
from ostler.model.task import PRIORITIES, Priority
from ostler.store.spending import Spent

Purse = Literal["task", "day"]

# From this percentage of the day's budget on, tasks of this priority and below wait.
SHED: tuple[tuple[int, Priority], ...] = ((100, "P0"), (95, "P1"), (90, "P2"), (80, "P3"))
WARN_PERCENT = 80
_ROUNDING = 1e-9  # dollars


class Budget(Struct, frozen=True):
    """The most that may be spent; None is no limit."""

    task_usd: float | None = None
    day_usd: float | None = None


class Go(Struct, frozen=True, tag=True):
    """Nothing stands in the way."""


class Warn(Struct, frozen=True, tag=True):
    """Go on, and say so."""

    which: Purse
    percent: int  # the level that is reached
    spent: Spent
    limit_usd: float

    @property
    def message(self) -> str:
        named = _named(self.which, self.limit_usd)
        return _with_left_out(f"{self.percent} % of {named} are spent", self.spent)


class Stop(Struct, frozen=True, tag=True):
    """The attempt is not made."""

    which: Purse
    percent: int  # the level that is reached; below 100 only low priorities wait
    spent: Spent
    limit_usd: float
    priority: Priority

    @property
    def message(self) -> str:
        named, spent = _named(self.which, self.limit_usd), _dollars(self.spent.usd)
        if self.percent < 100:
            why = f"{self.priority} waits: {self.percent} % of {named} are spent ({spent})"
        else:
            why = f"{named} is used up: {spent} spent"
        return _with_left_out(why, self.spent)


Verdict = Go | Warn | Stop


def budget_for(own_usd: float | None, settings: BudgetSettings) -> Budget:
    """What a task may spend: its own budget, else that of the settings."""
    return Budget(settings.task_usd if own_usd is None else own_usd, settings.day_usd)


def check(spent_task: Spent, spent_day: Spent, priority: Priority, budget: Budget) -> Verdict:
    """What the sums allow; a stop goes before a warning, and the task's own budget before the day's.

    An attempt is paid when it has ended, so that a budget is overrun by one call at most for each agent that
    is at work.
    """
    verdicts = (_check_task(spent_task, priority, budget), _check_day(spent_day, priority, budget))
    stops = [verdict for verdict in verdicts if isinstance(verdict, Stop)]
    warnings = [verdict for verdict in verdicts if isinstance(verdict, Warn)]
    return next(iter((*stops, *warnings)), Go())


def waits_from(spent_today_usd: float, day_usd: float) -> Priority | None:
    """The most urgent priority that waits for the next day; None: nobody does."""
    for percent, most_urgent in SHED:
        if _reached(Spent(spent_today_usd), percent, day_usd):
            return most_urgent
    return None


def _check_task(spent: Spent, priority: Priority, budget: Budget) -> Verdict:
    limit = budget.task_usd
    if limit is None:
        return Go()
    if _reached(spent, 100, limit):
        return Stop("task", 100, spent, limit, priority)
    return Warn("task", WARN_PERCENT, spent, limit) if _reached(spent, WARN_PERCENT, limit) else Go()


def _check_day(spent: Spent, priority: Priority, budget: Budget) -> Verdict:
    limit = budget.day_usd
    if limit is None:
        return Go()
    for percent, most_urgent in SHED:
        if _reached(spent, percent, limit):
            if PRIORITIES.index(priority) >= PRIORITIES.index(most_urgent):
                return Stop("day", percent, spent, limit, priority)
            return Warn("day", percent, spent, limit)
    return Go()


def _reached(spent: Spent, percent: int, limit: float) -> bool:
    return spent.usd + _ROUNDING >= limit * percent / 100


def _named(which: Purse, limit: float) -> str:
    return f"the {which}'s budget of {_dollars(limit)}"


def _dollars(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def left_out(attempts: int) -> str:
    """What a sum does not contain."""
    many = "1 attempt of unknown cost is" if attempts == 1 else f"{attempts} attempts of unknown cost are"
    return f"{many} not in this sum"


def _with_left_out(message: str, spent: Spent) -> str:
    return f"{message}; {left_out(spent.unknown)}" if spent.unknown else message
