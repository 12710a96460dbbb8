"""Metrics: task endings, tokens, cost, waits and attempts from the feed; the use of accounts' windows."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource

from ostler.model.limits.window import WindowUse
from ostler.model.usage import Usage
from ostler.telemetry.limit_meters import LimitMeters
from ostler.telemetry.line import DecodedLine
from ostler.telemetry.names import (
    AGENT,
    ERROR,
    OPERATION,
    PROVIDER,
    REQUEST_MODEL,
    TOKEN_TYPE,
    agent_attributes,
)
from ostler.telemetry.span import Attributes

_ENDINGS = {
    "task_completed": "completed",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
    "task_blocked": "blocked",
    "task_paused": "paused",
    "task_deferred": "deferred",
    "task_held": "held",
}
_KEPT = (OPERATION, AGENT, PROVIDER, REQUEST_MODEL)


class Meters:
    """Counts since the start of this process; a line counts once, even when it is read again."""

    def __init__(self, resource: Resource) -> None:
        self._reader = InMemoryMetricReader()
        meter = MeterProvider([self._reader], resource, shutdown_on_exit=False).get_meter("ostler")
        self._tasks = meter.create_counter("ostler.tasks", "{task}", "Tasks that ended or stopped, by status")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens by kind")
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "Duration of an attempt"
        )
        self._dollars = meter.create_counter("ostler.cost", "{USD}", "Known cost in US dollars")
        self._waits = meter.create_histogram("ostler.wait.duration", "s", "Duration of waits")
        self._slots = meter.create_gauge("ostler.slots.used", "{attempt}", "Running attempts")
        self._limits = LimitMeters(meter)
        self._running: dict[tuple[str, int], tuple[Attributes, float]] = {}
        self._counted = 0

    def count(self, lines: Iterable[DecodedLine]) -> None:
        for line in lines:
            if line.position > self._counted:
                self._counted = line.position
                self._count(line)
        self._slots.set(len(self._running))

    def observe(self, windows: Iterable[WindowUse], now: float) -> None:
        """Set the use of the windows of the user's accounts."""
        self._limits.observe(windows, now)

    def collect(self) -> MetricsData | None:
        return self._reader.get_metrics_data()

    def _count(self, line: DecodedLine) -> None:
        event = line.event
        if event.type in _ENDINGS:
            self._tasks.add(1, {"ostler.ending": _ENDINGS[event.type]})
        if event.type == "attempt_started":
            who = agent_attributes(event.executor, event.model, "")
            self._running[line.task, event.number] = (
                {name: who[name] for name in _KEPT if name in who},
                line.at,
            )
        elif event.type == "attempt_ended":
            self._end(line)
        elif event.type in ("wait_started", "task_deferred"):
            until = event.until or event.resumes_at or line.at
            if event.type == "task_deferred":
                self._limits.count_deferral(event.code, until - line.at)
            self._waits.record(max(0.0, until - line.at), {"ostler.wait": event.type.partition("_")[0]})

    def _end(self, line: DecodedLine) -> None:
        event = line.event
        who, began = self._running.pop((line.task, event.number), ({OPERATION: "invoke_agent"}, None))
        failed: Attributes = {ERROR: event.code} if event.code else {}
        self._limits.count_attempt(event.code, who)
        if began is not None:
            self._seconds.record(max(0.0, line.at - began), who | failed)
        for kind, tokens in _kinds(event.usage).items():
            if tokens:
                self._tokens.record(tokens, who | {TOKEN_TYPE: kind})
        if event.cost_usd:
            self._dollars.add(event.cost_usd, who)


def _kinds(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
    }
