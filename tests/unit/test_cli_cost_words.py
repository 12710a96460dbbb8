"""What is said about a sum of money."""

from __future__ import annotations

import pytest

from ostler.cli.cost import day_of
from ostler.cli.cost_words import budget_words, marks, sentences
from ostler.errors import UsageError
from ostler.views.cost import BudgetView, CostLine

REPORTED = "$2.00, as reported by the agents."


@pytest.mark.parametrize(
    ("line", "margin", "said"),
    [
        (CostLine("t"), "", []),
        (CostLine("t", 1, cost_usd=2.0), "", [REPORTED]),
        (CostLine("t", 1, cost_usd=0.0), "", ["$0.00, as reported by the agents."]),
        (CostLine("t", 1, cost_usd=2.0, priced_usd=2.0), "priced", ["$2.00, priced by tokens."]),
        (
            CostLine("t", 2, cost_usd=2.0, priced_usd=0.5),
            "priced",
            ["$2.00, $0.50 of it priced by tokens, the rest reported by the agents."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, subscription_usd=2.0),
            "subscription",
            [REPORTED, "All of it on a subscription: what it would have cost."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, proxy_usd=0.5),
            "proxy",
            [REPORTED, "$0.50 of it through a proxy, which may charge otherwise."],
        ),
        (
            CostLine("t", 2, cost_usd=2.0, unknown_attempts=1),
            "+ 1 unknown",
            [REPORTED, "1 attempt of unknown cost is not in this sum."],
        ),
        (
            CostLine("t", 2, unknown_attempts=2),
            "",
            ["Not known: no cost was reported, and no price of the model is known."],
        ),
    ],
)
def test_a_sum_in_words(line: CostLine, margin: str, said: list[str]) -> None:
    """Who says so, what is hypothetical, and what is missing."""
    assert (marks(line), sentences(line)) == (margin, said)


@pytest.mark.parametrize(
    ("today", "day", "expected"),
    [
        (1.0, 5.0, "Today: $1.00 of $5.00 (20 %)."),
        (4.0, 5.0, "Today: $4.00 of $5.00 (80 %): P3 waits for tomorrow."),
        (4.5, 5.0, "Today: $4.50 of $5.00 (90 %): P2 and P3 wait for tomorrow."),
        (4.75, 5.0, "Today: $4.75 of $5.00 (95 %): P1, P2 and P3 wait for tomorrow."),
        (6.0, 5.0, "Today: $6.00 of $5.00 (120 %): everything waits for tomorrow."),
        (0.0, 0.0, "Today: $0.00 of $0.00: everything waits for tomorrow."),
    ],
)
def test_a_day_in_words(today: float, day: float, expected: str) -> None:
    """How much of the day's budget is left, and who has to wait because of it."""
    assert budget_words(BudgetView(None, day, "pause", today, 0)) == expected


def test_a_budget_with_unknown_attempts() -> None:
    """What today's sum leaves out is said, and so is the limit of each task."""
    said = budget_words(BudgetView(0.5, 5.0, "pause", 1.0, 2)).splitlines()
    assert said[1:] == ["Today's attempts of unknown cost: 2, not counted.", "Each task: up to $0.50."]


@pytest.mark.parametrize("date", ["tomorrow", "", "2026-13-01", "15.11.2026", "2026-11-15T12:00", "9" * 30])
def test_a_day_that_is_none(date: str) -> None:
    """One sentence says how to write it."""
    with pytest.raises(UsageError, match="not a day"):
        day_of(date)
