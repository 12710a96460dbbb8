"""The cost of attempts, as printed by `ostler cost --json` (ostler.cost/1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Literal, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.config.settings import BudgetSettings
from ostler.model.attempt import Billing, CostSource
from ostler.model.usage import Usage, add_cost
from ostler.store.spending import EndedAttempt, SpentAmount

GroupBy = Literal["task", "day", "model", "executor", "phase"]
GROUPS: tuple[GroupBy, ...] = get_args(GroupBy)


class AttemptCost(Struct, frozen=True):
    """The usage and cost of one attempt."""

    usage: Usage
    usd: float | None
    source: CostSource
    billing: Billing


class CostLine(Struct, frozen=True):
    """The total of a group of attempts; the last three fields are parts of cost_usd."""

    key: str
    attempts: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None  # None: unknown for every attempt
    unknown_attempts: int = 0  # not included in cost_usd
    priced_usd: float = 0.0  # calculated from the price list, since the agent reported no cost
    subscription_usd: float = 0.0  # what it would have cost without the subscription
    proxy_usd: float = 0.0  # at the provider's prices; those of the proxy may differ


class BudgetView(Struct, frozen=True):
    """The budgets of the settings, and what was spent today."""

    task_usd: float | None
    day_usd: float | None
    on_exceed: str
    today_usd: float
    today_unknown_attempts: int


class CostView(Struct, frozen=True):
    by: GroupBy
    since: str | None
    lines: tuple[CostLine, ...]
    total: CostLine
    budget: BudgetView | None = None
    prices_checked: str = ""  # date of the price list
    schema: str = "ostler.cost/1"


def view_cost(
    ended: Iterable[EndedAttempt], by: GroupBy, since: float | None = None, tz: tzinfo | None = None
) -> CostView:
    """Return the costs by group: days in order, other groups with the most expensive first."""
    key_of = _keys(tz)[by]
    lines: dict[str, CostLine] = {}
    total = CostLine("total")
    for one in ended:
        key, paid = key_of(one), _cost_of(one)
        lines[key] = add(lines.get(key) or CostLine(key), paid)
        total = add(total, paid)
    ordered = sorted(lines.values(), key=_by_key if by == "day" else _most_expensive_first)
    return CostView(by, None if since is None else format_rfc3339(since), tuple(ordered), total)


def add(line: CostLine, paid: AttemptCost) -> CostLine:
    usd = paid.usd or 0.0
    return replace(
        line,
        attempts=line.attempts + 1,
        usage=line.usage + paid.usage,
        cost_usd=add_cost(line.cost_usd, paid.usd),
        unknown_attempts=line.unknown_attempts + (paid.usd is None),
        priced_usd=line.priced_usd + usd * (paid.source == "priced"),
        subscription_usd=line.subscription_usd + usd * (paid.billing == "subscription"),
        proxy_usd=line.proxy_usd + usd * (paid.billing == "proxy"),
    )


def view_budget(settings: BudgetSettings, today: SpentAmount) -> BudgetView | None:
    """Return the budgets and today's spending; None when no budget is set."""
    if settings.task_usd is None and settings.day_usd is None:
        return None
    return BudgetView(settings.task_usd, settings.day_usd, settings.on_exceed, today.usd, today.unknown)


def as_json(view: CostView) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(view)
    return {"schema": shown.pop("schema"), **shown}


def _keys(tz: tzinfo | None) -> dict[GroupBy, Callable[[EndedAttempt], str]]:
    return {
        "task": lambda one: one.attempt.task,
        "day": lambda one: datetime.fromtimestamp(one.at, tz).date().isoformat(),
        "model": lambda one: one.attempt.model,
        "executor": lambda one: one.attempt.executor,
        "phase": lambda one: one.attempt.phase,
    }


def _cost_of(one: EndedAttempt) -> AttemptCost:
    attempt = one.attempt
    return AttemptCost(attempt.usage, attempt.cost_usd, attempt.known_cost_source, attempt.billing)


def _by_key(line: CostLine) -> str:
    return line.key


def _most_expensive_first(line: CostLine) -> tuple[float, int, str]:
    return -(line.cost_usd or 0.0), -line.usage.total, line.key
