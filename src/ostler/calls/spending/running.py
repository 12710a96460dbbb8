"""The cost of a running attempt, from the answers that passed the proxy of its sandbox."""

from __future__ import annotations

from collections.abc import Callable

from ostler.calls.spending.budget import BudgetDecision, BudgetExceeded
from ostler.calls.spending.prices import Prices, calculate_cost, find_price
from ostler.model.usage import Usage
from ostler.store.spending import SpentAmount


class RunningCost:
    """Adds up the tokens of one attempt, and checks the budgets after each answer."""

    def __init__(
        self, check: Callable[[SpentAmount], BudgetDecision], started_at: float, prices: Prices | None
    ) -> None:
        self._check = check
        self._started_at = started_at
        self._prices = prices
        self._spent = SpentAmount()
        self.exceeded = ""  # why no further call of the model is allowed; empty: it is

    def add(self, model: str, usage: Usage) -> str:
        """Count one answer; return why no further call is allowed, or an empty string."""
        price = find_price(model, self._started_at, self._prices)
        self._spent += (
            SpentAmount(calculate_cost(usage, price)) if price else SpentAmount(0.0, 0, unpriced=usage)
        )
        decision = self._check(self._spent)
        self.exceeded = decision.message if isinstance(decision, BudgetExceeded) else ""
        return self.exceeded
