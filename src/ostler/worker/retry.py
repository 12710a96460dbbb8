"""Retry as data: what to do after a failed attempt."""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct

from ostler.config.settings import RetrySettings
from ostler.errors import CODES, Code
from ostler.model.call import CallResult

_QUOTA_PAUSE_SECONDS = 3600.0


class Again(Struct, frozen=True):
    """Try once more after a short wait."""

    wait_seconds: float


class Defer(Struct, frozen=True):
    """A limit stands in the way; the task comes back later."""

    wait_seconds: float


class GiveUp(Struct, frozen=True):
    """Nothing here makes the next attempt end better."""


def decide(failure: CallResult, repeats: int, key: str, retry: RetrySettings) -> Again | Defer | GiveUp:
    """What follows a failure, after `repeats` repeats of the same call."""
    if failure.code is Code.QUOTA_EXCEEDED:
        return Defer(failure.retry_after_seconds or _QUOTA_PAUSE_SECONDS)
    if failure.code is Code.RATE_LIMITED:
        return _limited(failure, repeats, retry)
    if failure.code is None or not CODES[failure.code].retryable or repeats >= retry.max_retries:
        return GiveUp()
    delay = calculate_backoff_delay(repeats, retry.base_delay_seconds, retry.max_delay_seconds)
    return Again(spread(delay, retry.jitter, f"{key}#{repeats}"))


def _limited(failure: CallResult, repeats: int, retry: RetrySettings) -> Again | Defer:
    wait = failure.retry_after_seconds
    wait = retry.rate_limit_wait_seconds if wait is None else wait
    short = wait <= retry.max_delay_seconds and repeats < retry.max_retries
    return Again(wait) if short else Defer(wait)


def calculate_backoff_delay(attempt: int, base: float = 1.0, maximum: float = 60.0) -> float:
    """min(base * 2**attempt, maximum), attempt counted from 0, in seconds (C38)."""
    return min(base * 2.0 ** min(attempt, 62), maximum)


def spread(delay: float, jitter: float, key: str) -> float:
    """The delay, up to `jitter` longer or shorter, always the same for the same key."""
    share = int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) / 2**64
    return delay * (1 + jitter * (2 * share - 1))
