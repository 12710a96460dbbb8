"""The description of a cost."""

from __future__ import annotations

import pytest

from ostler.cli.terminal.cost_text import describe_budget, describe_row, describe_total
from ostler.views.cost.summary import BudgetView, CostLine

REPORTED = "$2.00, reported by the agents."


@pytest.mark.parametrize(
    ("line", "margin", "printed"),
    [
        (CostLine("t"), "", []),
        (CostLine("t", 1, cost_usd=2.0), "", [REPORTED]),
        (CostLine("t", 1, cost_usd=0.0), "", ["$0.00, reported by the agents."]),
        (CostLine("t", 1, cost_usd=2.0, priced_usd=2.0), "priced", ["$2.00, calculated from tokens."]),
        (
            CostLine("t", 2, cost_usd=2.0, priced_usd=0.5),
            "priced",
            ["$2.00, $0.50 of it calculated from tokens, the rest reported by the agents."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, subscription_usd=2.0),
            "subscription",
            [REPORTED, "All of it on a subscription (list price, not billed)."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, proxy_usd=0.5),
            "proxy",
            [REPORTED, "$0.50 of it through a proxy, which may bill another amount."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, unknown_attempts=1),
            "+ 1 unknown",
            [REPORTED, "1 attempt of unknown cost is not in this sum."],
        ),
        (
            CostLine("t", 2, unknown_attempts=2),
            "",
            ["Unknown: the agent reported no cost, and the model has no known price."],
        ),
    ],
)
def test_a_total_is_described(line: CostLine, margin: str, printed: list[str]) -> None:
    """It states the source, list prices that are not billed, and what is missing."""
    assert (describe_row(line), describe_total(line)) == (margin, printed)


@pytest.mark.parametrize(
    ("today", "day", "expected"),
    [
        (1.0, 5.0, "Today: $1.00 of $5.00 (20 %)."),
        (4.0, 5.0, "Today: $4.00 of $5.00 (80 %); P3 to P4 wait until tomorrow."),
        (4.5, 5.0, "Today: $4.50 of $5.00 (90 %); P2 to P4 wait until tomorrow."),
        (4.75, 5.0, "Today: $4.75 of $5.00 (95 %); P1 to P4 wait until tomorrow."),
        (6.0, 5.0, "Today: $6.00 of $5.00 (120 %); all tasks wait until tomorrow."),
        (0.0, 0.0, "Today: $0.00 of $0.00; all tasks wait until tomorrow."),
    ],
)
def test_a_day_budget_is_described(today: float, day: float, expected: str) -> None:
    """It states the used share of the day's budget and which priorities wait."""
    assert describe_budget(BudgetView(None, day, "pause", today, 0)) == expected


def test_a_budget_with_unknown_attempts() -> None:
    """It states the attempts that are not counted, and the limit per task."""
    printed = describe_budget(BudgetView(0.5, 5.0, "pause", 1.0, 2)).splitlines()
    assert printed[1:] == ["Attempts of unknown cost today: 2, not counted.", "Each task: up to $0.50."]
