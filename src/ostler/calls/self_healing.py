"""Self-healing (C49): when most failures of a run are of one kind, the run adjusts its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.models.slots import WorkerPool
from ostler.config.settings import RetrySettings
from ostler.errors import Code

FailureKind = Literal["limits", "timeouts", "memory", "other"]

WINDOW = 10  # the last failures that count
THRESHOLD = 6  # of one kind among them
MAX_ADJUSTMENTS = 3
COOLDOWN_SECONDS = 30.0  # between two adjustments
MAX_DELAY_SECONDS = 30.0
MAX_OTHER_DELAY_SECONDS = 10.0
MAX_TIMEOUT_SECONDS = 1800.0

_KINDS: dict[Code, FailureKind] = {
    Code.RATE_LIMITED: "limits",
    Code.QUOTA_EXCEEDED: "limits",
    Code.OVERLOADED: "limits",
    Code.TIMEOUT: "timeouts",
    Code.IDLE_TIMEOUT: "timeouts",
    Code.AGENT_OOM: "memory",
    Code.AGENT_FAILED: "other",
    Code.AGENT_KILLED: "other",
    Code.API_ERROR: "other",
    Code.NETWORK: "other",
    Code.NO_RESULT: "other",
    Code.RESPONSE_EMPTY: "other",
    Code.SPAWN_FAILED: "other",
    Code.STREAM_BROKEN: "other",
}

_REDUCED_SLOTS: dict[FailureKind, Callable[[int], int]] = {
    "limits": lambda used: used // 2,
    "memory": lambda used: used // 2,
    "other": lambda used: used - 1,
}


class RunLimits(Struct, frozen=True):
    """The values that an adjustment changes."""

    delay_seconds: float  # before the first retry
    timeout_factor: float = 1.0  # of timeouts that are shorter than half an hour


class Adjustment(Struct, frozen=True):
    """The limits from now on, and why they changed."""

    kind: FailureKind
    message: str
    limits: RunLimits


class RunHealth(Struct, frozen=True):
    """The recent failures of a run and its current limits."""

    limits: RunLimits
    failures: tuple[FailureKind, ...] = ()  # since the last adjustment, WINDOW at most
    adjustments: int = 0
    adjusted_at: float | None = None


def record_failure(health: RunHealth, code: Code | None, now: float) -> tuple[RunHealth, Adjustment | None]:
    """Count a failure; return an adjustment when most of the last failures are of its kind.

    Failures that no adjustment prevents, such as a rejected key, are not counted.
    """
    kind = _KINDS.get(code) if code else None
    if kind is None or health.adjustments >= MAX_ADJUSTMENTS:
        return health, None
    failures = (*health.failures, kind)[-WINDOW:]
    in_cooldown = health.adjusted_at is not None and 0 <= now - health.adjusted_at < COOLDOWN_SECONDS
    if in_cooldown or failures.count(kind) < THRESHOLD:
        return replace(health, failures=failures), None
    limits = _adjust(health.limits, kind)
    adjustment = Adjustment(kind, _describe(kind, failures, limits), limits)
    return RunHealth(limits, (), health.adjustments + 1, now), adjustment


def extend_timeout(seconds: float, factor: float) -> float:
    """Return the timeout times the factor, half an hour at most; a longer timeout is not changed."""
    return max(seconds, min(seconds * factor, MAX_TIMEOUT_SECONDS))


def _adjust(limits: RunLimits, kind: FailureKind) -> RunLimits:
    delay = limits.delay_seconds
    match kind:
        case "limits":
            return replace(limits, delay_seconds=max(delay, min(delay * 2, MAX_DELAY_SECONDS)))
        case "timeouts":
            return replace(limits, timeout_factor=limits.timeout_factor * 1.5)
        case "memory":
            return limits
        case "other":
            return replace(limits, delay_seconds=max(delay, min(delay + 2, MAX_OTHER_DELAY_SECONDS)))


def _describe(kind: FailureKind, failures: tuple[FailureKind, ...], limits: RunLimits) -> str:
    causes = {"limits": "limits", "timeouts": "timeouts", "memory": "out of memory", "other": "crashes"}
    delay = f"retry delays from {limits.delay_seconds:g} s"
    changes = {
        "limits": f"half as many agents at once, {delay}",
        "timeouts": f"timeouts {limits.timeout_factor:g} times as long",
        "memory": "half as many agents at once",
        "other": f"one agent fewer at once, {delay}",
    }
    return f"{failures.count(kind)} of {len(failures)} failures were {causes[kind]}: {changes[kind]}"


class SelfHealing:
    """Counts the failures of one run and adjusts its slots, retry delays and timeouts."""

    def __init__(self, retry: RetrySettings, slots: WorkerPool) -> None:
        self._retry = retry
        self._slots = slots
        self._health = RunHealth(RunLimits(retry.base_delay_seconds))

    def record_failure(self, code: Code | None, now: float) -> Adjustment | None:
        """Count a failure and apply the adjustment that follows from it, if any."""
        self._health, adjustment = record_failure(self._health, code, now)
        if adjustment is not None and (reduce := _REDUCED_SLOTS.get(adjustment.kind)):
            self._slots.shrink(reduce)
        return adjustment

    @property
    def retry(self) -> RetrySettings:
        """The settings with the current retry delay."""
        return replace(self._retry, base_delay_seconds=self._health.limits.delay_seconds)

    @property
    def timeout_factor(self) -> float:
        return self._health.limits.timeout_factor


def create_self_healing(retry: RetrySettings, slots: WorkerPool) -> SelfHealing | None:
    """Return None when self-healing is off, which is the default."""
    return SelfHealing(retry, slots) if retry.self_healing else None
