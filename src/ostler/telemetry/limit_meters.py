"""Metrics of limits: use and resets of windows, rejected attempts, and the time that tasks are deferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from ostler.errors import is_provider_limit, read_code
from ostler.model.limits.titles import account_label
from ostler.model.limits.window import WindowUse
from ostler.secrets.redact import redact_text
from ostler.telemetry.names import ACCOUNT, ERROR, WINDOW
from ostler.telemetry.span import Attributes, Value


class LimitMeters:
    def __init__(self, meter: Meter) -> None:
        self._windows: tuple[WindowUse, ...] = ()
        self._now = 0.0
        # A gauge that is set would be sent with its last value for ever, after the window has ended.
        meter.create_observable_gauge(
            "ostler.limit.used", [self._observe_used], "1", "Used share of a window"
        )
        meter.create_observable_gauge(
            "ostler.limit.reset", [self._observe_resets], "s", "Time until a window resets"
        )
        self._rejections = meter.create_counter(
            "ostler.limit.rejections", "{attempt}", "Attempts that a provider rejected because of a limit"
        )
        self._deferred = meter.create_counter(
            "ostler.limit.deferred", "s", "Time that tasks were deferred because of a limit"
        )

    def observe(self, windows: Iterable[WindowUse], now: float) -> None:
        """Set what is sent; a window that is not known any more is not sent."""
        self._windows, self._now = tuple(windows), now

    def _observe_used(self, _: CallbackOptions) -> Iterable[Observation]:
        for use in self._windows:
            if use.reported.used is not None:
                yield Observation(use.reported.used, _name(use))

    def _observe_resets(self, _: CallbackOptions) -> Iterable[Observation]:
        for use in self._windows:
            if use.reported.resets_at is not None:
                yield Observation(max(0.0, use.reported.resets_at - self._now), _name(use))

    def count_attempt(self, code: str | None, who: Mapping[str, Value]) -> None:
        if code and is_provider_limit(read_code(code)):
            self._rejections.add(1, {**who, ERROR: code})

    def count_deferral(self, code: str | None, seconds: float) -> None:
        if code and is_provider_limit(read_code(code)):
            self._deferred.add(seconds, {ERROR: code})


def _name(use: WindowUse) -> Attributes:
    account = redact_text(use.label) or account_label(use.window)
    return {ACCOUNT: account, WINDOW: use.reported.name}
