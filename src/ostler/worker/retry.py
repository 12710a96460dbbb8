"""Retry as data: what follows a failed attempt."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import RetrySettings
from ostler.errors import CODES, Code
from ostler.model.call import CallResult

QUOTA_PAUSE_SECONDS = 3600.0  # when nobody says how long
_DEATHS, _SOON_SECONDS = 5, 1.0

_SWITCHES_OFF = frozenset(
    {Code.AUTH_FAILED, Code.MODEL_NOT_FOUND, Code.BILLING, Code.AGENT_NOT_FOUND, Code.AGENT_INCOMPATIBLE}
)
_DEATH = frozenset({Code.AGENT_FAILED, Code.AGENT_KILLED, Code.NO_RESULT, Code.RESPONSE_EMPTY})
_NO_MODEL_MENDS = frozenset(
    {Code.NEEDS_INPUT, Code.WORKTREE_LOST, Code.DISK_LIMIT, Code.SANDBOX_UNAVAILABLE, Code.BUDGET_EXCEEDED}
)


class Wait(Struct, frozen=True):
    """Try the same model again at this time."""

    until: float


class SwitchModel(Struct, frozen=True):
    """Go on with the next model."""

    off: bool = False  # this one is not to be used again in this run


class SwitchPool(Struct, frozen=True):
    """Go on with the fallback models at once."""


class GiveUp(Struct, frozen=True):
    """No model makes the next attempt end better."""


class Rules(Struct, frozen=True):
    """What a decision depends on besides the failure."""

    retry: RetrySettings
    key: str  # of the step; the jitter is a hash of it
    now: float


def decide(
    failure: CallResult, attempt: int, history: Sequence[CallResult], rules: Rules
) -> Wait | SwitchModel | SwitchPool | GiveUp:
    """What follows a failure on a model that failed `attempt` times before in this call: see `history`."""
    code, retry = failure.code, rules.retry
    if code is None or code in _NO_MODEL_MENDS:
        return GiveUp()
    if code is Code.QUOTA_EXCEEDED:
        return SwitchPool()
    again = CODES[code].retryable and not failure.final and attempt < retry.max_retries
    if not again or is_crash_loop((*history, failure)):
        return SwitchModel(off=code in _SWITCHES_OFF)
    delay = calculate_backoff_delay(attempt, retry.base_delay_seconds, retry.max_delay_seconds)
    if code is Code.RATE_LIMITED:
        wait = limit_seconds(failure, retry)
        if failure.retry_after_seconds is None:
            wait = max(wait, delay)  # where nobody says how long, each time twice as long
        return Wait(rules.now + wait) if wait <= retry.max_delay_seconds else SwitchModel()
    return Wait(rules.now + spread(delay, retry.jitter, f"{rules.key}#{attempt}"))


def limit_seconds(failure: CallResult, retry: RetrySettings) -> float:
    """How long a limit holds: as the provider says, else as the settings assume."""
    if failure.retry_after_seconds is not None:
        return failure.retry_after_seconds
    return QUOTA_PAUSE_SECONDS if failure.code is Code.QUOTA_EXCEEDED else retry.rate_limit_wait_seconds


def is_crash_loop(failures: Sequence[CallResult]) -> bool:
    """Whether the last five attempts all died within a second (A29)."""
    last = failures[-_DEATHS:]
    return len(last) == _DEATHS and all(
        one.code in _DEATH and one.duration_seconds < _SOON_SECONDS for one in last
    )


def named(failure: CallResult, history: Sequence[CallResult]) -> CallResult:
    """The failure, called a crash loop when it is the last straw of one."""
    if not is_crash_loop((*history, failure)):
        return failure
    message = f"died within a second {_DEATHS} times in a row; the last time: {failure.message}"
    return replace(failure, code=Code.CRASH_LOOP, message=message)


def calculate_backoff_delay(attempt: int, base: float = 1.0, maximum: float = 60.0) -> float:
    """min(base * 2**attempt, maximum), attempt counted from 0, in seconds (C38)."""
    return min(base * 2.0 ** min(attempt, 62), maximum)


def spread(delay: float, jitter: float, key: str) -> float:
    """The delay, up to `jitter` longer or shorter, always the same for the same key."""
    share = int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) / 2**64
    return delay * (1 + jitter * (2 * share - 1))
