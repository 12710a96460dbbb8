"""The metrics, counted from lines of the feed: endings, tokens, dollars, waits, places in use."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource

from ostler.model.usage import Usage
from ostler.telemetry.line import Line
from ostler.telemetry.names import AGENT, OPERATION, PROVIDER, REQUEST_MODEL, TOKEN_TYPE, agent_attributes
from ostler.telemetry.span import Attributes

_ENDINGS = {
    "task_completed": "completed",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
    "task_blocked": "blocked",
    "task_paused": "paused",
    "task_deferred": "deferred",
}
_KEPT = (OPERATION, AGENT, PROVIDER, REQUEST_MODEL)


class Meters:
    """Sums since this process began; a line is counted once, however often it is given."""

    def __init__(self, resource: Resource) -> None:
        self._reader = InMemoryMetricReader()
        meter = MeterProvider([self._reader], resource, shutdown_on_exit=False).get_meter("ostler")
        self._tasks = meter.create_counter("ostler.tasks", "{task}", "Tasks by how they ended, or rest")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens by kind")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "Time of an attempt")
        self._dollars = meter.create_counter("ostler.cost", "{USD}", "Dollars, where they are known")
        self._waits = meter.create_histogram("ostler.wait.duration", "s", "How long work is to be held back")
        self._slots = meter.create_gauge("ostler.slots.used", "{attempt}", "Attempts at work")
        self._at_work: dict[tuple[str, int], tuple[Attributes, float]] = {}
        self._counted = 0

    def count(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if line.position > self._counted:
                self._counted = line.position
                self._count(line)
        self._slots.set(len(self._at_work))

    def collect(self) -> MetricsData | None:
        return self._reader.get_metrics_data()

    def _count(self, line: Line) -> None:
        said = line.said
        if said.type in _ENDINGS:
            self._tasks.add(1, {"ostler.ending": _ENDINGS[said.type]})
        if said.type == "attempt_started":
            who = agent_attributes(said.executor, said.model, "")
            self._at_work[line.task, said.number] = (
                {name: who[name] for name in _KEPT if name in who},
                line.at,
            )
        elif said.type == "attempt_ended":
            self._end(line)
        elif said.type in ("wait_started", "task_deferred"):
            until = said.until or said.resumes_at or line.at
            self._waits.record(max(0.0, until - line.at), {"ostler.wait": said.type.partition("_")[0]})

    def _end(self, line: Line) -> None:
        said = line.said
        who, began = self._at_work.pop((line.task, said.number), ({OPERATION: "invoke_agent"}, None))
        failed: Attributes = {"error.type": said.code} if said.code else {}
        if began is not None:
            self._seconds.record(max(0.0, line.at - began), who | failed)
        for kind, tokens in _kinds(said.usage).items():
            if tokens:
                self._tokens.record(tokens, who | {TOKEN_TYPE: kind})
        if said.cost_usd:
            self._dollars.add(said.cost_usd, who)


def _kinds(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
    }
