"""Metrics of limits: use and resets of windows, rejected attempts, and the time that tasks are deferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.metrics import Meter

from ostler.errors import is_provider_limit, read_code
from ostler.model.limits.titles import account_label
from ostler.model.limits.window import WindowUse
from ostler.secrets.redact import redact_text
from ostler.telemetry.names import ACCOUNT, ERROR, WINDOW
from ostler.telemetry.span import Attributes, Value


class LimitMeters:
    def __init__(self, meter: Meter) -> None:
        self._used = meter.create_gauge("ostler.limit.used", "1", "Used share of a window")
        self._reset = meter.create_gauge("ostler.limit.reset", "s", "Time until a window resets")
        self._rejections = meter.create_counter(
            "ostler.limit.rejections", "{attempt}", "Attempts that a provider rejected because of a limit"
        )
        self._deferred = meter.create_counter(
            "ostler.limit.deferred", "s", "Time that tasks were deferred because of a limit"
        )

    def observe(self, windows: Iterable[WindowUse], now: float) -> None:
        """Set the gauges; a window that is not known any more is not sent."""
        for use in windows:
            named = _name(use)
            if use.reported.used is not None:
                self._used.set(use.reported.used, named)
            if use.reported.resets_at is not None:
                self._reset.set(max(0.0, use.reported.resets_at - now), named)

    def count_attempt(self, code: str | None, who: Mapping[str, Value]) -> None:
        if code and is_provider_limit(read_code(code)):
            self._rejections.add(1, {**who, ERROR: code})

    def count_deferral(self, code: str | None, seconds: float) -> None:
        if code and is_provider_limit(read_code(code)):
            self._deferred.add(max(0.0, seconds), {ERROR: code})


def _name(use: WindowUse) -> Attributes:
    account = redact_text(use.label) or account_label(use.window)
    return {ACCOUNT: account, WINDOW: use.reported.name}
