"""Problems of budgets: one that no task can use up, and one that no cost is counted against."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ostler.calls.models.selector import configured_models
from ostler.calls.spending.prices import find_price
from ostler.config.literal import quote
from ostler.errors import Problem
from ostler.project.inspection.executors import explain_unknown_executor, list_used_executors, make_executor
from ostler.project.inspection.setup import Setup


def find_budget_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for a budget that cannot be used up, or that no cost can be counted against."""
    budget = setup.settings.budget
    if budget.task_usd is not None and budget.day_usd is not None and budget.day_usd < budget.task_usd:
        yield setup.problem(
            "budget.day_usd",
            f"{budget.day_usd:g} is less than budget.task_usd ({budget.task_usd:g}): no task can use it up",
            "warning",
        )
    limits = ("task_usd", "day_usd")
    key = next((f"budget.{name}" for name in limits if getattr(budget, name) is not None), "")
    if key:
        for text in _describe_uncounted(setup):
            yield setup.problem(key, text, "warning")


def _describe_uncounted(setup: Setup) -> Iterator[str]:
    """Yield what the budget means for each executor or model whose cost is unknown."""
    settings = setup.settings
    models = {row.executor: row.model for row in configured_models(settings) if row.enabled}
    used = list_used_executors(setup).values()
    for name in dict.fromkeys(name for name in used if not explain_unknown_executor(name, setup)):
        can = make_executor(name, setup).capabilities
        model = models.get(name, settings.run.model)
        if not can.reports_cost and not can.reports_usage:
            yield f"{name} is not started while there is a budget: it reports neither tokens nor cost"
        elif not can.reports_cost and model and not find_price(model, time.time(), settings.prices):
            yield f"{model} has no price, so the highest listed one is used; add [prices.{quote(model)}]"
