"""Retry as data: the table of what follows a failure."""

from __future__ import annotations

import pytest

from ostler.config.settings import RetrySettings
from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.worker.retry import Again, Defer, GiveUp, calculate_backoff_delay, decide, spread

PLAIN = RetrySettings(jitter=0.0)


@pytest.mark.parametrize(
    ("code", "retry_after", "repeats", "expected"),
    [
        (Code.AGENT_FAILED, None, 0, Again(1.0)),
        (Code.AGENT_FAILED, None, 1, Again(2.0)),
        (Code.AGENT_FAILED, None, 2, GiveUp()),
        (Code.AUTH_FAILED, None, 0, GiveUp()),
        (Code.AGENT_NOT_FOUND, None, 0, GiveUp()),
        (Code.RATE_LIMITED, 5.0, 0, Again(5.0)),
        (Code.RATE_LIMITED, 5.0, 2, Defer(5.0)),
        (Code.RATE_LIMITED, 61.0, 0, Defer(61.0)),
        (Code.RATE_LIMITED, None, 0, Again(60.0)),
        (Code.QUOTA_EXCEEDED, None, 0, Defer(3600.0)),
        (Code.QUOTA_EXCEEDED, 7200.0, 0, Defer(7200.0)),
    ],
)
def test_what_follows_a_failure(
    code: Code, retry_after: float | None, repeats: int, expected: Again | Defer | GiveUp
) -> None:
    """Short waits are waited, limits defer, the rest is bounded by max_retries."""
    failure = CallResult(code=code, retry_after_seconds=retry_after)
    assert decide(failure, repeats, "k", PLAIN) == expected


def test_zero_retries_means_once() -> None:
    """retry.max_retries = 0 gives up after the first failure."""
    assert decide(CallResult(code=Code.TIMEOUT), 0, "k", RetrySettings(max_retries=0)) == GiveUp()


@pytest.mark.parametrize(("attempt", "delay"), [(0, 1.0), (1, 2.0), (2, 4.0), (6, 60.0), (10_000, 60.0)])
def test_backoff_doubles_up_to_its_limit(attempt: int, delay: float) -> None:
    """C38: min(base * 2**attempt, maximum)."""
    assert calculate_backoff_delay(attempt) == delay


def test_jitter_is_bounded_and_repeatable() -> None:
    """The same key waits the same time; other keys differ within the share."""
    waits = {spread(10.0, 0.2, f"key{n}") for n in range(200)}
    assert len(waits) == 200
    assert 8.0 <= min(waits) < 8.5 and 11.5 < max(waits) <= 12.0
    assert spread(10.0, 0.2, "key") == spread(10.0, 0.2, "key")
