"""Retry as data: decides what follows a failed attempt."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import RetrySettings
from ostler.errors import CODES, Code
from ostler.model.call import CallResult
from ostler.model.limits.rejection import is_only_family_rejected

_CRASH_LOOP_LENGTH, _CRASH_SECONDS = 5, 1.0

_DISABLING = frozenset(
    {Code.AUTH_FAILED, Code.MODEL_NOT_FOUND, Code.BILLING, Code.AGENT_NOT_FOUND, Code.AGENT_INCOMPATIBLE}
)
_CRASHES = frozenset({Code.AGENT_FAILED, Code.AGENT_KILLED, Code.NO_RESULT, Code.RESPONSE_EMPTY})
_NO_MODEL_HELPS = frozenset(
    {Code.NEEDS_INPUT, Code.WORKTREE_LOST, Code.DISK_LIMIT, Code.SANDBOX_UNAVAILABLE, Code.BUDGET_EXCEEDED}
)


class Wait(Struct, frozen=True):
    """Try the same model again at this time."""

    until: float


class SwitchModel(Struct, frozen=True):
    """Try the next model."""

    disable: bool = False  # do not use this one again in this run


class SwitchPool(Struct, frozen=True):
    """Try the fallback models next."""


class GiveUp(Struct, frozen=True):
    """End the call: no model can succeed."""


class RetryContext(Struct, frozen=True):
    """The input of a decision besides the failures."""

    retry: RetrySettings
    key: str  # of the step; the jitter is a hash of it
    now: float
    has_other_models: bool = False  # in the pool of the call


def decide(
    failure: CallResult, attempt: int, history: Sequence[CallResult], context: RetryContext
) -> Wait | SwitchModel | SwitchPool | GiveUp:
    """Return what follows a failure of a model that failed `attempt` times before, with `history`."""
    code, retry = failure.code, context.retry
    if code is None or code in _NO_MODEL_HELPS:
        return GiveUp()
    if code is Code.QUOTA_EXCEEDED:
        # Other models of the account may be used after a limit that counts only one family of models.
        return SwitchModel() if is_only_family_rejected(failure) else SwitchPool()
    can_retry = CODES[code].retryable and not failure.final and attempt < retry.max_retries
    if code is Code.TIMEOUT and context.has_other_models:
        # Each one may take an hour: the session is resumed once, then another model is tried.
        can_retry = can_retry and not any(one.code is Code.TIMEOUT for one in history)
    if not can_retry or is_crash_loop((*history, failure)):
        return SwitchModel(disable=code in _DISABLING)
    delay = calculate_backoff_delay(attempt, retry.base_delay_seconds, retry.max_delay_seconds)
    if code is Code.RATE_LIMITED:
        wait = get_limit_seconds(failure, retry)
        if failure.retry_after_seconds is None:
            wait = max(wait, delay)
        return Wait(context.now + wait) if wait <= retry.max_delay_seconds else SwitchModel()
    return Wait(context.now + apply_jitter(delay, retry.jitter, f"{context.key}#{attempt}"))


def get_limit_seconds(failure: CallResult, retry: RetrySettings) -> float:
    """Return how long a rate limit lasts: as the provider reports it, else as the settings assume."""
    reported = failure.retry_after_seconds
    return retry.rate_limit_wait_seconds if reported is None else max(0.0, reported)


def is_crash_loop(failures: Sequence[CallResult]) -> bool:
    """Return whether the last five attempts all crashed within a second (A29)."""
    last = failures[-_CRASH_LOOP_LENGTH:]
    return len(last) == _CRASH_LOOP_LENGTH and all(
        one.code in _CRASHES and one.duration_seconds < _CRASH_SECONDS and not one.is_stopped for one in last
    )


def detect_crash_loop(failure: CallResult, history: Sequence[CallResult]) -> CallResult:
    """Return the failure, with the code CRASH_LOOP when it completes a crash loop."""
    if not is_crash_loop((*history, failure)):
        return failure
    message = f"crashed within a second {_CRASH_LOOP_LENGTH} times in a row; the last time: {failure.message}"
    return replace(failure, code=Code.CRASH_LOOP, message=message)


def calculate_backoff_delay(attempt: int, base: float = 1.0, maximum: float = 60.0) -> float:
    """Return min(base * 2**attempt, maximum) in seconds; attempt is counted from 0 (C38)."""
    return min(base * 2.0 ** min(attempt, 62), maximum)


def apply_jitter(delay: float, jitter: float, key: str) -> float:
    """Return the delay, up to `jitter` longer or shorter, always the same for the same key."""
    share = int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) / 2**64
    return delay * (1 + jitter * (2 * share - 1))
