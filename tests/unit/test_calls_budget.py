"""Budgets: which calls may continue, which are warned, which wait, and how far a budget can be exceeded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.calls.spending.budget import (
    Allowed,
    Budget,
    BudgetExceeded,
    BudgetWarning,
    add_estimate,
    check_budget,
    resolve_budget,
)
from ostler.calls.spending.prices import resolve_cost
from ostler.config.settings import BudgetSettings
from ostler.model.call import CallResult
from ostler.model.policy.budget import find_waiting_priority
from ostler.model.task import PRIORITIES, Priority
from ostler.model.usage import Usage
from ostler.store.spending import SpentAmount

NOTHING = SpentAmount()


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        (0, "go go go go go"),
        (79, "go go go go go"),
        (80, "80 80 80 stop stop"),
        (89, "80 80 80 stop stop"),
        (90, "90 90 stop stop stop"),
        (95, "95 stop stop stop stop"),
        (99, "95 stop stop stop stop"),
        (100, "stop stop stop stop stop"),
        (250, "stop stop stop stop stop"),
    ],
)
def test_the_day_sheds_low_priorities_first(percent: int, expected: str) -> None:
    """At 80 % of the day's budget P3 and P4 wait, at 90 P2, at 95 P1, at 100 all; the others are warned."""
    decisions: list[str] = []
    for priority in PRIORITIES:
        match check_budget(NOTHING, SpentAmount(percent / 10), priority, Budget(day_usd=10.0)):
            case Allowed():
                decisions.append("go")
            case BudgetWarning(scope="day", percent=level):
                decisions.append(str(level))
            case BudgetExceeded(scope="day"):
                decisions.append("stop")
            case other:
                decisions.append(repr(other))
    assert " ".join(decisions) == expected


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (0.0, Allowed()),
        (0.79, Allowed()),
        (0.80, BudgetWarning("task", 80, SpentAmount(0.80), 1.0)),
        (0.99, BudgetWarning("task", 80, SpentAmount(0.99), 1.0)),
        (1.00, BudgetExceeded("task", 100, SpentAmount(1.00), 1.0, "P0")),
        (1.70, BudgetExceeded("task", 100, SpentAmount(1.70), 1.0, "P0")),
    ],
)
def test_a_task_stops_when_its_budget_is_used_up(
    spent: float, expected: Allowed | BudgetWarning | BudgetExceeded
) -> None:
    """The priority does not matter for the task's own budget: warned at 80 %, stopped at 100."""
    assert check_budget(SpentAmount(spent), NOTHING, "P0", Budget(task_usd=1.0)) == expected


def test_no_budget_never_stops() -> None:
    """Without a limit no totals are read."""
    assert check_budget(SpentAmount(1e9), SpentAmount(1e9), "P3", Budget()) == Allowed()


def test_a_budget_of_nothing_stops_at_once() -> None:
    """day_usd = 0 means that nothing may be spent."""
    assert isinstance(check_budget(NOTHING, NOTHING, "P0", Budget(day_usd=0.0)), BudgetExceeded)


def test_a_stop_goes_before_a_warning() -> None:
    """A used-up day is not hidden by a warning about the task, and vice versa."""
    budget = Budget(task_usd=1.0, day_usd=1.0)
    assert isinstance(check_budget(SpentAmount(0.85), SpentAmount(1.0), "P0", budget), BudgetExceeded)
    assert isinstance(check_budget(SpentAmount(1.0), SpentAmount(0.85), "P0", budget), BudgetExceeded)


def test_unknown_cost_is_mentioned_and_is_not_zero_money() -> None:
    """Unknown costs stop nothing and are mentioned in every message."""
    decision = check_budget(SpentAmount(0.8, unknown=2), NOTHING, "P0", Budget(task_usd=1.0))
    assert isinstance(decision, BudgetWarning)
    decisions = "80 % of the task's budget of $1.00 are spent; 2 attempts of unknown cost are not in this sum"
    assert decision.message == decisions
    assert (
        check_budget(SpentAmount(0.0, unknown=9), SpentAmount(0.0, unknown=9), "P3", Budget(1.0, 1.0))
        == Allowed()
    )


@pytest.mark.parametrize(
    ("spent", "priority", "expected"),
    [
        (SpentAmount(5.2), "P0", "the day's budget of $5.00 is used up: $5.20 spent"),
        (SpentAmount(4.1), "P3", "P3 waits: 80 % of the day's budget of $5.00 are spent ($4.10)"),
        (
            SpentAmount(5.2, 1),
            "P1",
            "the day's budget of $5.00 is used up: $5.20 spent; 1 attempt of unknown cost is not in this sum",
        ),
    ],
)
def test_a_stop_shows_why(spent: SpentAmount, priority: Priority, expected: str) -> None:
    """The message names the budget, the total and the waiting call."""
    decision = check_budget(NOTHING, spent, priority, Budget(day_usd=5.0))
    assert isinstance(decision, BudgetExceeded) and decision.message == expected


def test_small_money_is_not_rounded_to_nothing() -> None:
    """A budget below a cent is printed with four decimals."""
    decision = check_budget(SpentAmount(0.002), NOTHING, "P0", Budget(task_usd=0.001))
    assert isinstance(decision, BudgetExceeded)
    assert decision.message == "the task's budget of $0.0010 is used up: $0.0020 spent"


def test_a_tasks_own_budget_wins() -> None:
    """--budget-usd takes precedence over budget.task_usd; the day's budget applies to all."""
    settings = BudgetSettings(task_usd=1.0, day_usd=5.0)
    assert resolve_budget(0.2, settings) == Budget(0.2, 5.0)
    assert resolve_budget(None, settings) == Budget(1.0, 5.0)


@given(
    st.floats(0.01, 100),
    st.lists(st.tuples(st.sampled_from(["gpt-5-mini", "gpt-5.5", "claude-opus-4-1"]), st.integers(0, 10**6))),
)
def test_a_fallback_to_a_dearer_model_overruns_by_one_call_at_most(
    limit: float, calls: list[tuple[str, int]]
) -> None:
    """For any order of models: without the last call the budget was not reached."""
    spent, last = SpentAmount(), 0.0
    for model, tokens in calls:
        if isinstance(check_budget(spent, spent, "P0", Budget(limit, limit)), BudgetExceeded):
            break
        cost, _ = resolve_cost(CallResult(None, model=model, usage=Usage(tokens, 1)), "", 1.79e9)
        last = cost or 0.0
        spent += SpentAmount(last)
    assert spent.usd - last < limit


@given(st.floats(0, 200), st.sampled_from(PRIORITIES))
def test_what_the_screen_shows_is_what_the_worker_does(spent: float, priority: Priority) -> None:
    """find_waiting_priority returns a priority exactly when check_budget stops it."""
    urgent = find_waiting_priority(spent, 100.0)
    waits = urgent is not None and PRIORITIES.index(priority) >= PRIORITIES.index(urgent)
    assert (
        isinstance(check_budget(NOTHING, SpentAmount(spent), priority, Budget(day_usd=100.0)), BudgetExceeded)
        is waits
    )


def test_tokens_without_a_price_are_estimated() -> None:
    """They count at the highest listed price, with a warning that names [prices]; no budget is void."""
    spent = add_estimate(SpentAmount(unknown=1, unpriced=Usage(1_000_000, 0)))
    assert spent.usd > 0
    warned = check_budget(spent, NOTHING, "P0", Budget(task_usd=spent.usd * 2))
    assert isinstance(warned, BudgetWarning) and "set [prices] for the model" in warned.message
    stopped = check_budget(spent, NOTHING, "P0", Budget(task_usd=spent.usd / 2))
    assert isinstance(stopped, BudgetExceeded) and "set [prices] for the model" in stopped.message
