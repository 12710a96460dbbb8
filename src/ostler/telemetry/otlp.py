"""Send spans and metrics to a collector: OTLP over HTTP; needs the extra `otel`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from ostler.model.limits.window import WindowUse
from ostler.telemetry.line import DecodedLine
from ostler.telemetry.meters import Meters
from ostler.telemetry.span import Span, span_id, trace_id

TIMEOUT_SECONDS = 3.0
_AT_ONCE = 512  # spans
_SCOPE = InstrumentationScope("ostler")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class Collector:
    """A collector, for use by one thread; an empty `endpoint` means the OTEL_EXPORTER_OTLP_* variables."""

    def __init__(self, endpoint: str, store: str, project: str) -> None:
        logging.getLogger("opentelemetry").addHandler(
            logging.NullHandler()
        )  # keeps its messages off the screen
        base = endpoint.rstrip("/")
        self._store = store
        self._resource = Resource.create(
            {"service.name": os.environ.get("OTEL_SERVICE_NAME", "ostler"), "ostler.project": project}
        )
        self._meters = Meters(self._resource)
        self._spans = OTLPSpanExporter(base and f"{base}/v1/traces", timeout=TIMEOUT_SECONDS)
        self._metrics = OTLPMetricExporter(base and f"{base}/v1/metrics", timeout=TIMEOUT_SECONDS)

    def send(
        self,
        spans: Sequence[tuple[str, Span]],
        lines: Iterable[DecodedLine],
        windows: Iterable[WindowUse],
        now: float,
    ) -> bool:
        """Send the spans, each with its task, and the metrics; return False unless all are accepted."""
        self._meters.count(lines)
        self._meters.observe(windows, now)
        readable = [self._readable(task, span) for task, span in spans]
        return self._send_spans(readable) and self._send_metrics()

    def close(self) -> None:
        """Close the exporters; a retry delay ends at once."""
        self._spans.shutdown()
        self._metrics.shutdown()  # pyright: ignore[reportUnknownMemberType]

    def _send_spans(self, spans: list[ReadableSpan]) -> bool:
        parts = (spans[start : start + _AT_ONCE] for start in range(0, len(spans), _AT_ONCE))
        return all(self._spans.export(part) is SpanExportResult.SUCCESS for part in parts)

    def _send_metrics(self) -> bool:
        metrics = self._meters.collect()
        if metrics is None:
            return True
        return self._metrics.export(metrics) is MetricExportResult.SUCCESS  # pyright: ignore[reportUnknownMemberType]

    def _readable(self, task: str, span: Span) -> ReadableSpan:
        attempt = span.key.startswith("attempt/")
        return ReadableSpan(
            name=span.name,
            context=self._context(task, span.key),
            parent=self._context(task, span.parent) if span.parent else None,
            resource=self._resource,
            attributes={"ostler.task.id": task, **span.attributes},
            kind=SpanKind.CLIENT if attempt else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.error else StatusCode.OK),
            start_time=int(span.start * 1e9),
            end_time=int(span.end * 1e9),
            instrumentation_scope=_SCOPE,
        )

    def _context(self, task: str, key: str) -> SpanContext:
        trace, span = trace_id(self._store, task), span_id(self._store, task, key)
        return SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED)
