"""Describe a cost: where it comes from and what it does not include."""

from __future__ import annotations

from math import isclose

from ostler.calls.spending.budget import describe_unknown_costs
from ostler.cli.terminal.text import format_usd
from ostler.model.policy.budget import find_waiting_priority
from ostler.model.task import PRIORITIES
from ostler.views.cost.summary import BudgetView, CostLine

_UNKNOWN = "Unknown: the agent reported no cost, and the model has no known price."


def describe_row(line: CostLine) -> str:
    """Return the notes of a table row."""
    notes = {
        f"+ {line.unknown_attempts} unknown": line.unknown_attempts and line.cost_usd is not None,
        "priced": line.priced_usd,
        "subscription": line.subscription_usd,
        "proxy": line.proxy_usd,
    }
    return ", ".join(note for note, applies in notes.items() if applies)


def describe_total(line: CostLine) -> list[str]:
    """Return the lines below a total."""
    if line.cost_usd is None:
        return [_UNKNOWN] if line.unknown_attempts else []
    total = line.cost_usd
    lines = [f"{format_usd(total)}, {describe_source(line)}."]
    if line.subscription_usd:
        lines.append(
            f"{_share_of_total(line.subscription_usd, total)} on a subscription (list price, not billed)."
        )
    if line.proxy_usd:
        lines.append(
            f"{_share_of_total(line.proxy_usd, total)} through a proxy, which may bill another amount."
        )
    if line.unknown_attempts:
        lines.append(f"{describe_unknown_costs(line.unknown_attempts)}.")
    return lines


def describe_source(line: CostLine) -> str:
    if not line.priced_usd:
        return "reported by the agents"
    if line.priced_usd == line.cost_usd:
        return "calculated from tokens"
    return f"{format_usd(line.priced_usd)} of it calculated from tokens, the rest reported by the agents"


def _share_of_total(usd: float, total: float) -> str:
    return "All of it" if isclose(usd, total) else f"{format_usd(usd)} of it"


def describe_budget(budget: BudgetView) -> str:
    """Return the state of the budgets."""
    lines: list[str] = []
    if budget.day_usd is not None:
        share = f" ({100 * budget.today_usd / budget.day_usd:.0f} %)" if budget.day_usd else ""
        waiting = _describe_waiting(budget.today_usd, budget.day_usd)
        lines.append(
            f"Today: {format_usd(budget.today_usd)} of {format_usd(budget.day_usd)}{share}{waiting}."
        )
        if budget.today_unknown_attempts:
            lines.append(f"Attempts of unknown cost today: {budget.today_unknown_attempts}, not counted.")
    if budget.task_usd is not None:
        lines.append(f"Each task: up to {format_usd(budget.task_usd)}.")
    return "\n".join(lines)


def _describe_waiting(spent: float, limit: float) -> str:
    most_urgent = find_waiting_priority(spent, limit)
    if most_urgent is None:
        return ""
    waiting = "all tasks" if most_urgent == PRIORITIES[0] else f"{most_urgent} to {PRIORITIES[-1]}"
    return f"; {waiting} wait until tomorrow"
