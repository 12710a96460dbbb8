"""Retry as data: the table of what follows a failure."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.calls.models.retry import (
    GiveUp,
    RetryContext,
    SwitchModel,
    SwitchPool,
    Wait,
    apply_jitter,
    calculate_backoff_delay,
    decide,
    detect_crash_loop,
    is_crash_loop,
)
from ostler.config.settings import RetrySettings
from ostler.errors import Code
from ostler.model.call import CallResult

NOW = 1000.0
PLAIN = RetryContext(RetrySettings(jitter=0.0), "k", NOW)
OFF = SwitchModel(disable=True)


def fails(code: Code, retry_after: float | None = None, seconds: float = 5.0) -> CallResult:
    return CallResult(code=code, retry_after_seconds=retry_after, duration_seconds=seconds)


@pytest.mark.parametrize(
    ("failure", "attempt", "expected"),
    [
        (fails(Code.AGENT_FAILED), 0, Wait(NOW + 1)),
        (fails(Code.AGENT_FAILED), 1, Wait(NOW + 2)),
        (fails(Code.AGENT_FAILED), 2, SwitchModel()),
        (fails(Code.TIMEOUT), 0, Wait(NOW + 1)),
        (fails(Code.IDLE_TIMEOUT), 2, SwitchModel()),
        (fails(Code.OVERLOADED), 0, Wait(NOW + 1)),
        (fails(Code.AUTH_FAILED), 0, OFF),
        (fails(Code.MODEL_NOT_FOUND), 0, OFF),
        (fails(Code.BILLING), 0, OFF),
        (fails(Code.AGENT_INCOMPATIBLE), 0, OFF),
        (fails(Code.PROMPT_TOO_LARGE), 0, SwitchModel()),
        (fails(Code.REFUSED), 0, SwitchModel()),
        (fails(Code.RATE_LIMITED, 5.0), 0, Wait(NOW + 5)),
        (fails(Code.RATE_LIMITED, 0.0), 0, Wait(NOW)),
        (fails(Code.RATE_LIMITED, 5.0), 2, SwitchModel()),
        (fails(Code.RATE_LIMITED, 61.0), 0, SwitchModel()),
        (fails(Code.RATE_LIMITED, 864_000.0), 0, SwitchModel()),
        (fails(Code.RATE_LIMITED), 0, Wait(NOW + 60)),
        (fails(Code.QUOTA_EXCEEDED), 0, SwitchPool()),
        (fails(Code.QUOTA_EXCEEDED, 7200.0), 0, SwitchPool()),
        (fails(Code.NEEDS_INPUT), 0, GiveUp()),
    ],
)
def test_what_follows_a_failure(
    failure: CallResult, attempt: int, expected: Wait | SwitchModel | SwitchPool | GiveUp
) -> None:
    """Short waits are made, a quota switches the pool, everything else is bounded by max_retries."""
    assert decide(failure, attempt, (), PLAIN) == expected


def test_an_executor_can_report_that_a_repeat_would_not_help() -> None:
    """A result marked as final is not retried, whatever its code."""
    final = CallResult(code=Code.OVERLOADED, final=True)
    assert decide(final, 0, (), PLAIN) == SwitchModel()
    assert decide(CallResult(code=Code.RATE_LIMITED, final=True), 0, (), PLAIN) == SwitchModel()


@pytest.mark.parametrize(("attempt", "wait"), [(0, 2), (1, 2), (2, 4), (3, 8)])
def test_a_limit_of_unknown_length_is_waited_for_longer_each_time(attempt: int, wait: int) -> None:
    """At least rate_limit_wait_seconds; the time that a provider reports takes precedence."""
    rules = RetryContext(RetrySettings(jitter=0.0, max_retries=9, rate_limit_wait_seconds=2.0), "k", NOW)
    assert decide(fails(Code.RATE_LIMITED), attempt, (), rules) == Wait(NOW + wait)
    assert decide(fails(Code.RATE_LIMITED, 0.5), attempt, (), rules) == Wait(NOW + 0.5)


def test_zero_retries_means_each_model_once() -> None:
    """retry.max_retries = 0 switches to the next model after the first failure, also after a short limit."""
    once = RetryContext(RetrySettings(max_retries=0), "k", NOW)
    assert decide(fails(Code.TIMEOUT), 0, (), once) == SwitchModel()
    assert decide(fails(Code.RATE_LIMITED, 1.0), 0, (), once) == SwitchModel()


def test_an_agent_that_dies_at_once_is_not_started_for_ever() -> None:
    """A29: the fifth crash within a second is a crash loop, whatever max_retries is."""
    often = RetryContext(RetrySettings(max_retries=100, jitter=0.0), "k", NOW)
    death = fails(Code.AGENT_FAILED, seconds=0.2)
    history = [death] * 4
    assert isinstance(decide(death, 3, history[:3], often), Wait)
    assert decide(death, 4, history, often) == SwitchModel()
    assert detect_crash_loop(death, history).code is Code.CRASH_LOOP
    assert detect_crash_loop(death, history[:3]) is death
    assert not is_crash_loop([*history, fails(Code.AGENT_FAILED, seconds=1.5)])
    assert not is_crash_loop([*history, fails(Code.OVERLOADED, seconds=0.1)])


@pytest.mark.parametrize(("attempt", "delay"), [(0, 1.0), (1, 2.0), (2, 4.0), (6, 60.0), (10_000, 60.0)])
def test_backoff_doubles_up_to_its_limit(attempt: int, delay: float) -> None:
    """C38: min(base * 2**attempt, maximum)."""
    assert calculate_backoff_delay(attempt) == delay


def test_jitter_is_bounded_and_repeatable() -> None:
    """The same key waits the same time; other keys differ within the jitter."""
    waits = {apply_jitter(10.0, 0.2, f"key{n}") for n in range(200)}
    assert len(waits) == 200
    assert 8.0 <= min(waits) < 8.5 and 11.5 < max(waits) <= 12.0
    assert apply_jitter(10.0, 0.2, "key") == apply_jitter(10.0, 0.2, "key")


def test_a_model_times_out_twice_at_most() -> None:
    """The session is resumed once after a timeout, then the next model is tried (A16)."""
    late, several = fails(Code.TIMEOUT), replace(PLAIN, has_other_models=True)
    assert isinstance(decide(late, 0, (), several), Wait)
    assert decide(late, 1, (late,), several) == SwitchModel()
    assert isinstance(decide(late, 1, (fails(Code.AGENT_FAILED),), several), Wait)
    assert isinstance(decide(late, 1, (late,), PLAIN), Wait)  # there is no other model
