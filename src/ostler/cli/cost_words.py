"""What one has to know about a sum of money, in words."""

from __future__ import annotations

from math import isclose

from ostler.cli.text import money
from ostler.views.cost import BudgetView, CostLine
from ostler.worker.budget import left_out, waits_from

_UNKNOWN = "Not known: no cost was reported, and no price of the model is known."


def marks(line: CostLine) -> str:
    """In the margin of a table."""
    words = {
        f"+ {line.unknown_attempts} unknown": line.unknown_attempts and line.cost_usd is not None,
        "priced": line.priced_usd,
        "subscription": line.subscription_usd,
        "proxy": line.proxy_usd,
    }
    return ", ".join(word for word, holds in words.items() if holds)


def sentences(line: CostLine) -> list[str]:
    """Below a sum."""
    if line.cost_usd is None:
        return [_UNKNOWN] if line.unknown_attempts else []
    total = line.cost_usd
    said = [f"{money(total)}, {who_says(line)}."]
    if line.subscription_usd:
        said.append(f"{_part(line.subscription_usd, total)} on a subscription: what it would have cost.")
    if line.proxy_usd:
        said.append(f"{_part(line.proxy_usd, total)} through a proxy, which may charge otherwise.")
    if line.unknown_attempts:
        said.append(f"{left_out(line.unknown_attempts)}.")
    return said


def who_says(line: CostLine) -> str:
    if not line.priced_usd:
        return "as reported by the agents"
    if line.priced_usd == line.cost_usd:
        return "priced by tokens"
    return f"{money(line.priced_usd)} of it priced by tokens, the rest reported by the agents"


def _part(usd: float, total: float) -> str:
    return "All of it" if isclose(usd, total) else f"{money(usd)} of it"


def budget_words(budget: BudgetView) -> str:
    """How today stands."""
    said: list[str] = []
    if budget.day_usd is not None:
        share = f" ({100 * budget.today_usd / budget.day_usd:.0f} %)" if budget.day_usd else ""
        waiting = _waiting(budget.today_usd, budget.day_usd)
        said.append(f"Today: {money(budget.today_usd)} of {money(budget.day_usd)}{share}{waiting}.")
        if budget.today_unknown_attempts:
            said.append(f"Today's attempts of unknown cost: {budget.today_unknown_attempts}, not counted.")
    if budget.task_usd is not None:
        said.append(f"Each task: up to {money(budget.task_usd)}.")
    return "\n".join(said)


def _waiting(spent: float, limit: float) -> str:
    match waits_from(spent, limit):
        case None:
            return ""
        case "P0":
            return ": everything waits for tomorrow"
        case "P1":
            return ": P1, P2 and P3 wait for tomorrow"
        case "P2":
            return ": P2 and P3 wait for tomorrow"
        case "P3":
            return ": P3 waits for tomorrow"
