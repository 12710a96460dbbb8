"""The forecast in one sentence."""

from __future__ import annotations

from datetime import datetime

from ostler.clock import format_local_time
from ostler.model.limits.titles import window_title
from ostler.views.forecast.forecast import Forecast
from ostler.views.forecast.needs import LEAST_TASKS


def describe_forecast(forecast: Forecast, now: float, *, is_active: bool) -> str:
    """Return how many tasks wait, what limits them, when they are done and what they cost."""
    waiting = _count(forecast.tasks_waiting, "task waits", "tasks wait")
    if not forecast.is_known:
        return f"{waiting}; not enough past tasks for a forecast ({forecast.basis} of {LEAST_TASKS})"
    parts = [waiting, _describe_limit(forecast, now), _describe_end(forecast, now, is_active)]
    basis = f"median of {forecast.basis} past tasks"
    return f"{'; '.join(filter(None, parts))} ({basis})"


def _describe_limit(forecast: Forecast, now: float) -> str:
    if forecast.resets_at is None:
        return ""
    until = format_local_time(_read(forecast.resets_at), now)
    fitting = f"about {forecast.fit_until_reset}" if forecast.fit_until_reset else "none"
    match forecast.limited_by:
        case None:
            return f"{_name_window(forecast.window)} is enough"
        case "window":
            return f"{_name_window(forecast.window)} allows {fitting} until {until}"
        case "budget":
            return f"the day's budget allows {fitting} until {until}"
        case "closed":
            return f"{forecast.account} accepts no calls until {until}"


def _describe_end(forecast: Forecast, now: float, is_active: bool) -> str:
    if forecast.done_at is None:
        return "no end, because the day's budget allows no task"
    done = f"done about {format_local_time(_read(forecast.done_at), now)}"
    cost = "" if forecast.cost_usd is None else f", about ${forecast.cost_usd:.2f}"
    note = " at list prices" if cost and forecast.is_list_price else ""
    return f"{done if is_active else f'if started now, {done}'}{cost}{note}"


def _name_window(name: str | None) -> str:
    return f"the {window_title(name or '')} window"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _read(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
