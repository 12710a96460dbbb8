"""Past and waiting tasks, windows and forecasts of them, at a fixed time."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.views.forecast.forecast import Forecast, WaitingTask, make_forecast
from ostler.views.forecast.needs import Estimator, Need, PastTask
from ostler.views.forecast.rates import Rate
from ostler.views.forecast.schedule import Capacity, WindowRoom
from ostler.views.forecast.text import add_text

NOW = 1_790_000_000.0
HOUR = 3600.0
DAY = 86_400.0


def past(weight: str, *minutes: float) -> list[PastTask]:
    return [PastTask(weight, {"implement": Need(60 * one, 1000 * one, one)}) for one in minutes]


def waiting(number: int, weight: str = "small", **fields: object) -> list[WaitingTask]:
    return [WaitingTask(f"t{index}", weight, ("implement",), **fields) for index in range(number)]  # pyright: ignore


def room(used: float = 0.0, per_usd: float = 0.1, **fields: object) -> WindowRoom:
    window = WindowRoom("five_hour", used, 0.95, NOW + 2 * HOUR, 5 * HOUR, Rate(0.0, per_usd, 9))
    return replace(window, **fields)


def forecast(tasks: list[WaitingTask], capacity: Capacity, *past_tasks: PastTask) -> Forecast:
    found = make_forecast(tasks, [], Estimator(past_tasks or past("small", 10, 10, 10)), capacity, NOW)
    assert found is not None
    return found


def text_of(found: Forecast, *, is_active: bool = True) -> str:
    return add_text(found, NOW, is_active=is_active).text
