"""The forecast in one sentence."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from ostler.clock import format_local_time
from ostler.model.limits.titles import window_title
from ostler.views.forecast.forecast import Forecast
from ostler.views.forecast.needs import LEAST_TASKS

_TIMES = ("resets_at", "done_at")
_LEAST_USD = 0.01


def add_text(forecast: Forecast, now: float, *, is_active: bool) -> Forecast:
    """Return the forecast with its sentence: for this time zone, and as a template for others."""
    template = describe_forecast(forecast, is_active=is_active)
    return replace(forecast, template=template, text=fill_times(template, forecast, now))


def fill_times(template: str, forecast: Forecast, now: float) -> str:
    """Return the sentence with the times of this time zone."""
    for name in _TIMES:
        time: str | None = getattr(forecast, name)
        if time is not None:
            template = template.replace(f"{{{name}}}", format_local_time(_read(time), now))
    return template


def describe_forecast(forecast: Forecast, *, is_active: bool) -> str:
    """Return how many tasks wait, what limits them, when they are done and what they cost."""
    waiting = _count(forecast.tasks_waiting, "task waits", "tasks wait")
    if forecast.tasks_blocked:
        waiting += f" and {_count(forecast.tasks_blocked, 'depends', 'depend')} on tasks that do not run"
    if not forecast.is_known:
        return f"{waiting}; not enough past tasks for a forecast ({forecast.basis} of {LEAST_TASKS})"
    parts = [waiting, _describe_limit(forecast), _describe_end(forecast, is_active)]
    basis = f"median of {forecast.basis} past tasks"
    return f"{'; '.join(filter(None, parts))} ({basis})"


def _describe_limit(forecast: Forecast) -> str:
    if forecast.resets_at is None:
        return ""
    until = "{resets_at}"
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
        case "early":
            return f"P3 and P4 tasks start before a reset, from {until}"


def _describe_end(forecast: Forecast, is_active: bool) -> str:
    if forecast.more_than_days is not None:
        done = f"done in more than {_count(forecast.more_than_days, 'day', 'days')}"
    elif forecast.done_at is None:
        return "no end, because the day's budget allows no task"
    else:
        done = "done about {done_at}"
    cost = _describe_cost(forecast.cost_usd)
    note = " at list prices" if cost and forecast.is_list_price else ""
    return f"{done if is_active else f'if started now, {done}'}{cost}{note}"


def _describe_cost(usd: float | None) -> str:
    """Return the cost; empty if it is unknown or nothing."""
    if not usd:
        return ""
    return f", about ${usd:.2f}" if usd >= _LEAST_USD else f", less than ${_LEAST_USD}"


def _name_window(name: str | None) -> str:
    return f"the {window_title(name or '')} window"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _read(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
