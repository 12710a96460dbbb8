"""Metrics of windows."""

from __future__ import annotations

from opentelemetry.sdk.metrics.export import NumberDataPoint
from opentelemetry.sdk.resources import Resource

from limits_world import HOUR, window_use
from ostler.telemetry.meters import Meters

NOW = 1_794_775_650.0


def collect(meters: Meters) -> dict[tuple[str, object], float]:
    data = meters.collect()
    scopes = [scope for one in (data.resource_metrics if data else ()) for scope in one.scope_metrics]
    metrics = [metric for scope in scopes for metric in scope.metrics if "limit" in metric.name]
    return {
        (metric.name, (point.attributes or {})["ostler.window"]): point.value
        for metric in metrics
        for point in metric.data.data_points
        if isinstance(point, NumberDataPoint)
    }


def test_a_window_that_has_ended_is_not_sent() -> None:
    meters = Meters(Resource({}))
    week = window_use("seven_day", 0.4, NOW, resets_in=None)
    meters.observe([window_use("five_hour", 0.5, NOW), week], NOW)
    assert collect(meters) == {
        ("ostler.limit.used", "five_hour"): 0.5,
        ("ostler.limit.reset", "five_hour"): 2 * HOUR,
        ("ostler.limit.used", "seven_day"): 0.4,
    }
    meters.observe([week], NOW + 3 * HOUR)
    assert collect(meters) == {("ostler.limit.used", "seven_day"): 0.4}
