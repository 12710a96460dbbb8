"""Receivers of notifications: a webhook server and a collector of OpenTelemetry, both local."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ostler.testing.loopback import Loopback
from world import World

SECRET = "a key that both sides know"


class Call:
    """One request, as received."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["x-ostler-delivery"]

    def check_signature(self) -> None:
        """Check it as docs/notifications.md describes for a receiver."""
        signed = self.headers["x-ostler-timestamp"].encode() + b"." + self.body
        wanted = "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(wanted, self.headers["x-ostler-signature"])


class Receiver(Loopback):
    """Accepts every request, after it has refused as many as `refuses`; silent, it never answers one."""

    def __init__(self, refuses: int = 0, silent: bool = False) -> None:
        self.calls: list[Call] = []
        self.refuses = refuses
        self.silent = silent
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.calls.append(Call(self.path, headers, body))
                if receiver.silent:
                    receiver.released.wait(60)
                    return
                self.send_response(500 if len(receiver.calls) <= receiver.refuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(Handler)

    def close(self) -> None:
        self.released.set()
        super().close()

    def reported(self) -> list[str]:
        """Return the event of each message."""
        return [call.message["on"] for call in self.calls]

    # As a collector

    def spans(self) -> list[Span]:
        return list(self._spans())

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the last export, by name."""
        sent = [call.body for call in self.calls if call.path == "/v1/metrics"]
        request = ExportMetricsServiceRequest.FromString(sent[-1] if sent else b"")
        return {
            metric.name: metric
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _spans(self) -> Iterator[Span]:
        for call in self.calls:
            if call.path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(call.body).resource_spans:
                    for scope in resource.scope_spans:
                        yield from scope.spans


def run_until(world: World, holds: Callable[[], object], code: int | None = 0) -> None:
    """Run, and repeat while a message is missing: the grace period of one run may be too short."""
    deadline = time.monotonic() + 100
    world.ostler("run", "--all", code=code)
    while not holds():
        assert time.monotonic() < deadline, "no message was received"
        world.ostler("run", "--all", code=None)


def attributes(item: Any) -> dict[str, Any]:
    """Return a span's or data point's attributes as plain values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in item.attributes}
