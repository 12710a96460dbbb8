"""Self-healing (C49): when most failures of a run are of one kind, the run goes on more carefully."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import RetrySettings
from ostler.errors import Code
from ostler.worker.slots import WorkerPool

Kind = Literal["limits", "timeouts", "memory", "other"]

WINDOW = 10  # failures that are looked at
ENOUGH = 6  # of one kind among them
MOST_ADJUSTMENTS = 3
COOL_DOWN_SECONDS = 30.0
LONGEST_DELAY_SECONDS = 30.0
LONGEST_OTHER_DELAY_SECONDS = 10.0
LONGEST_TIMEOUT_SECONDS = 1800.0

_KINDS: dict[Code, Kind] = {
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


_PLACES_LEFT: dict[Kind, Callable[[int], int]] = {
    "limits": lambda used: used // 2,
    "memory": lambda used: used // 2,
    "other": lambda used: used - 1,
}


class Care(Struct, frozen=True):
    """How carefully the run goes on."""

    delay_seconds: float  # before the first repeat
    stretch: float = 1.0  # of deadlines that are shorter than half an hour


class Adjustment(Struct, frozen=True):
    """What changes from now on, and why."""

    kind: Kind
    message: str
    care: Care


class Health(Struct, frozen=True):
    """The failures of a run, as far as they count."""

    care: Care
    failures: tuple[Kind, ...] = ()  # since the last adjustment, WINDOW at most
    adjustments: int = 0
    adjusted_at: float | None = None


def learn(health: Health, code: Code | None, now: float) -> tuple[Health, Adjustment | None]:
    """Count a failure; an adjustment when most of the last ones are like it.

    Failures that no care mends, as a refused key, are not counted.
    """
    kind = _KINDS.get(code) if code else None
    if kind is None or health.adjustments >= MOST_ADJUSTMENTS:
        return health, None
    failures = (*health.failures, kind)[-WINDOW:]
    cooling = health.adjusted_at is not None and 0 <= now - health.adjusted_at < COOL_DOWN_SECONDS
    if cooling or failures.count(kind) < ENOUGH:
        return replace(health, failures=failures), None
    care = _more_careful(health.care, kind)
    made = Adjustment(kind, _sentence(kind, failures, care), care)
    return Health(care, (), health.adjustments + 1, now), made


def stretched(seconds: float, stretch: float) -> float:
    """A deadline, made longer up to half an hour; one that is longer already stays as it is."""
    return max(seconds, min(seconds * stretch, LONGEST_TIMEOUT_SECONDS))


def _more_careful(care: Care, kind: Kind) -> Care:
    delay = care.delay_seconds
    match kind:
        case "limits":
            return replace(care, delay_seconds=max(delay, min(delay * 2, LONGEST_DELAY_SECONDS)))
        case "timeouts":
            return replace(care, stretch=care.stretch * 1.5)
        case "memory":
            return care
        case "other":
            return replace(care, delay_seconds=max(delay, min(delay + 2, LONGEST_OTHER_DELAY_SECONDS)))


def _sentence(kind: Kind, failures: tuple[Kind, ...], care: Care) -> str:
    what = {"limits": "limits", "timeouts": "timeouts", "memory": "for want of memory", "other": "breakdowns"}
    longer = f"waits from {care.delay_seconds:g} s"
    change = {
        "limits": f"half as many agents at once, {longer}",
        "timeouts": f"deadlines {care.stretch:g} times as long",
        "memory": "half as many agents at once",
        "other": f"one agent fewer at once, {longer}",
    }
    return f"{failures.count(kind)} of {len(failures)} failures were {what[kind]}: {change[kind]}"


class Healer:
    """The care of one run; told of every failure, asked before every attempt."""

    def __init__(self, retry: RetrySettings, slots: WorkerPool) -> None:
        self._retry = retry
        self._slots = slots
        self._health = Health(Care(retry.base_delay_seconds))

    def learn(self, code: Code | None, now: float) -> Adjustment | None:
        """Count a failure, and work more carefully where that follows; it returns what has changed."""
        self._health, adjustment = learn(self._health, code, now)
        if adjustment is not None and (left := _PLACES_LEFT.get(adjustment.kind)):
            self._slots.narrow(left)
        return adjustment

    @property
    def retry(self) -> RetrySettings:
        """The settings, with the delay that now goes for repeats."""
        return replace(self._retry, base_delay_seconds=self._health.care.delay_seconds)

    @property
    def stretch(self) -> float:
        return self._health.care.stretch


def healer_for(retry: RetrySettings, slots: WorkerPool) -> Healer | None:
    """None where self-healing is off, which is the default."""
    return Healer(retry, slots) if retry.self_healing else None
