"""The cost of a running attempt is checked after each answer."""

from __future__ import annotations

import pytest

from ostler.calls.spending.budget import Budget, BudgetDecision, check_budget
from ostler.calls.spending.running import RunningCost
from ostler.model.usage import Usage
from ostler.store.spending import SpentAmount

SONNET = "claude-sonnet-4-5"


def cost_with(limit_usd: float | None, spent_before: float = 0.0) -> RunningCost:
    def check(spent: SpentAmount) -> BudgetDecision:
        return check_budget(SpentAmount(spent_before) + spent, SpentAmount(), "P2", Budget(limit_usd))

    return RunningCost(check, 1.8e9, None)


def test_the_answer_that_uses_the_budget_up_ends_the_calls() -> None:
    """Three dollars per million tokens: the second answer reaches six."""
    cost = cost_with(5.0)
    assert cost.add(SONNET, Usage(1_000_000)) == ""
    assert "the task's budget of $5.00 is used up" in cost.add(SONNET, Usage(1_000_000))
    assert cost.exceeded


@pytest.mark.parametrize(
    ("limit", "before", "exceeds"), [(None, 0.0, False), (5.0, 0.0, False), (5.0, 3.0, True)]
)
def test_earlier_attempts_count(limit: float | None, before: float, exceeds: bool) -> None:
    assert bool(cost_with(limit, before).add(SONNET, Usage(1_000_000))) is exceeds
