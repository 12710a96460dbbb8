"""What was spent, as `ostler cost --json` gives it (ostler.cost/1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Literal, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ostler.clock import rfc3339
from ostler.config.settings import BudgetSettings
from ostler.model.attempt import Billing, CostSource
from ostler.model.usage import Usage, add_cost
from ostler.store.spending import Ended, Spent

By = Literal["task", "day", "model", "executor", "phase"]
GROUPS: tuple[By, ...] = get_args(By)


class Paid(Struct, frozen=True):
    """One attempt's bill."""

    usage: Usage
    usd: float | None
    source: CostSource
    billing: Billing


class CostLine(Struct, frozen=True):
    """The bills of a group, summed up. The last three are parts of cost_usd."""

    key: str
    attempts: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None  # None: of no attempt is it known
    unknown_attempts: int = 0  # not in cost_usd
    priced_usd: float = 0.0  # by the price list, where the agent named no cost
    subscription_usd: float = 0.0  # what it would have cost
    proxy_usd: float = 0.0  # as the provider's own prices are; the proxy may ask for others


class BudgetView(Struct, frozen=True):
    """How today stands against the settings."""

    task_usd: float | None
    day_usd: float | None
    on_exceed: str
    today_usd: float
    today_unknown_attempts: int


class CostView(Struct, frozen=True):
    by: By
    since: str | None
    lines: tuple[CostLine, ...]
    total: CostLine
    budget: BudgetView | None = None
    prices_checked: str = ""  # the day of the price list
    schema: str = "ostler.cost/1"


def view_cost(
    ended: Iterable[Ended], by: By, since: float | None = None, tz: tzinfo | None = None
) -> CostView:
    """The attempts by group: days in order, everything else with the dearest first."""
    key_of = _keys(tz)[by]
    lines: dict[str, CostLine] = {}
    total = CostLine("total")
    for one in ended:
        key, paid = key_of(one), _paid(one)
        lines[key] = add(lines.get(key) or CostLine(key), paid)
        total = add(total, paid)
    ordered = sorted(lines.values(), key=_by_key if by == "day" else _dearest_first)
    return CostView(by, None if since is None else rfc3339(since), tuple(ordered), total)


def add(line: CostLine, paid: Paid) -> CostLine:
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


def view_budget(settings: BudgetSettings, today: Spent) -> BudgetView | None:
    """None where no budget is set."""
    if settings.task_usd is None and settings.day_usd is None:
        return None
    return BudgetView(settings.task_usd, settings.day_usd, settings.on_exceed, today.usd, today.unknown)


def as_json(view: CostView) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(view)
    return {"schema": shown.pop("schema"), **shown}


def _keys(tz: tzinfo | None) -> dict[By, Callable[[Ended], str]]:
    return {
        "task": lambda one: one.attempt.task,
        "day": lambda one: datetime.fromtimestamp(one.at, tz).date().isoformat(),
        "model": lambda one: one.attempt.model,
        "executor": lambda one: one.attempt.executor,
        "phase": lambda one: one.attempt.phase,
    }


def _paid(one: Ended) -> Paid:
    attempt = one.attempt
    return Paid(attempt.usage, attempt.cost_usd, attempt.source, attempt.billing)


def _by_key(line: CostLine) -> str:
    return line.key


def _dearest_first(line: CostLine) -> tuple[float, int, str]:
    return -(line.cost_usd or 0.0), -line.usage.total, line.key
