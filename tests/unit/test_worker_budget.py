"""Budgets: who may go on, who is warned, who waits, and how far a budget can be overrun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.config.settings import BudgetSettings
from ostler.model.call import CallResult
from ostler.model.task import PRIORITIES, Priority
from ostler.model.usage import Usage
from ostler.store.spending import Spent
from ostler.worker.budget import Budget, Go, Stop, Warn, budget_for, check, waits_from
from ostler.worker.prices import settle

NOTHING = Spent()


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        (0, "go go go go"),
        (79, "go go go go"),
        (80, "80 80 80 stop"),
        (89, "80 80 80 stop"),
        (90, "90 90 stop stop"),
        (95, "95 stop stop stop"),
        (99, "95 stop stop stop"),
        (100, "stop stop stop stop"),
        (250, "stop stop stop stop"),
    ],
)
def test_the_day_sheds_low_priorities_first(percent: int, expected: str) -> None:
    """At 80 % of the day's budget P3 waits, at 90 P2, at 95 P1, at 100 everything; the rest is warned."""
    said: list[str] = []
    for priority in PRIORITIES:
        match check(NOTHING, Spent(percent / 10), priority, Budget(day_usd=10.0)):
            case Go():
                said.append("go")
            case Warn(which="day", percent=level):
                said.append(str(level))
            case Stop(which="day"):
                said.append("stop")
            case other:
                said.append(repr(other))
    assert " ".join(said) == expected


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (0.0, Go()),
        (0.79, Go()),
        (0.80, Warn("task", 80, Spent(0.80), 1.0)),
        (0.99, Warn("task", 80, Spent(0.99), 1.0)),
        (1.00, Stop("task", 100, Spent(1.00), 1.0, "P0")),
        (1.70, Stop("task", 100, Spent(1.70), 1.0, "P0")),
    ],
)
def test_a_task_stops_when_its_budget_is_used_up(spent: float, expected: Go | Warn | Stop) -> None:
    """Its priority does not matter for its own budget: warned at 80 %, stopped at 100."""
    assert check(Spent(spent), NOTHING, "P0", Budget(task_usd=1.0)) == expected


def test_no_budget_never_stops() -> None:
    """Without a limit nothing is asked of anybody."""
    assert check(Spent(1e9), Spent(1e9), "P3", Budget()) == Go()


def test_a_budget_of_nothing_stops_at_once() -> None:
    """day_usd = 0 means that nothing may be spent."""
    assert isinstance(check(NOTHING, NOTHING, "P0", Budget(day_usd=0.0)), Stop)


def test_a_stop_goes_before_a_warning() -> None:
    """A day that is over is not hidden by a task that is only warned, nor the other way round."""
    budget = Budget(task_usd=1.0, day_usd=1.0)
    assert isinstance(check(Spent(0.85), Spent(1.0), "P0", budget), Stop)
    assert isinstance(check(Spent(1.0), Spent(0.85), "P0", budget), Stop)


def test_unknown_cost_is_said_and_is_not_zero_money() -> None:
    """What nobody knows stops nothing, and stands in every message."""
    verdict = check(Spent(0.8, unknown=2), NOTHING, "P0", Budget(task_usd=1.0))
    assert isinstance(verdict, Warn)
    said = "80 % of the task's budget of $1.00 are spent; 2 attempts of unknown cost are not in this sum"
    assert verdict.message == said
    assert check(Spent(0.0, unknown=9), Spent(0.0, unknown=9), "P3", Budget(1.0, 1.0)) == Go()


@pytest.mark.parametrize(
    ("spent", "priority", "expected"),
    [
        (Spent(5.2), "P0", "the day's budget of $5.00 is used up: $5.20 spent"),
        (Spent(4.1), "P3", "P3 waits: 80 % of the day's budget of $5.00 are spent ($4.10)"),
        (
            Spent(5.2, 1),
            "P1",
            "the day's budget of $5.00 is used up: $5.20 spent; 1 attempt of unknown cost is not in this sum",
        ),
    ],
)
def test_a_stop_says_why(spent: Spent, priority: Priority, expected: str) -> None:
    """The sentence names the budget, the sum and who waits."""
    verdict = check(NOTHING, spent, priority, Budget(day_usd=5.0))
    assert isinstance(verdict, Stop) and verdict.message == expected


def test_small_money_is_not_rounded_to_nothing() -> None:
    """A budget below a cent is named as what it is."""
    verdict = check(Spent(0.002), NOTHING, "P0", Budget(task_usd=0.001))
    assert isinstance(verdict, Stop)
    assert verdict.message == "the task's budget of $0.0010 is used up: $0.0020 spent"


def test_a_tasks_own_budget_wins() -> None:
    """--budget-usd stands above budget.task_usd; the day's budget holds for all."""
    settings = BudgetSettings(task_usd=1.0, day_usd=5.0)
    assert budget_for(0.2, settings) == Budget(0.2, 5.0)
    assert budget_for(None, settings) == Budget(1.0, 5.0)


@given(
    st.floats(0.01, 100),
    st.lists(st.tuples(st.sampled_from(["gpt-5-mini", "gpt-5.5", "claude-opus-4-1"]), st.integers(0, 10**6))),
)
def test_a_fallback_to_a_dearer_model_overruns_by_one_call_at_most(
    limit: float, calls: list[tuple[str, int]]
) -> None:
    """Whatever models follow each other: without the last call the budget was not reached."""
    spent, last = Spent(), 0.0
    for model, tokens in calls:
        if isinstance(check(spent, spent, "P0", Budget(limit, limit)), Stop):
            break
        cost, _ = settle(CallResult(None, model=model, usage=Usage(tokens, 1)), "", 1.79e9)
        last = cost or 0.0
        spent += Spent(last)
    assert spent.usd - last < limit


@given(st.floats(0, 200), st.sampled_from(PRIORITIES))
def test_what_the_screen_says_is_what_the_worker_does(spent: float, priority: Priority) -> None:
    """A priority waits by waits_from exactly when check stops it."""
    urgent = waits_from(spent, 100.0)
    waits = urgent is not None and PRIORITIES.index(priority) >= PRIORITIES.index(urgent)
    assert isinstance(check(NOTHING, Spent(spent), priority, Budget(day_usd=100.0)), Stop) is waits
