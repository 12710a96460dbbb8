"""Limits and cooldowns: whether the next call may start."""

from __future__ import annotations

from math import inf, nan

import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.limits.limit import (
    LEASE_SECONDS,
    RECHECK_SECONDS,
    Closed,
    Cooldown,
    Limit,
    Open,
    Probe,
    check_admission,
    limit_on,
    start_cooldown,
    window_for,
)
from ostler.model.limits.window import LONGEST_SECONDS, Window
from ostler.model.policy.model_config import ModelConfig

NOW = 1_700_000_000.0
DAY = 86_400.0
SONNET = Window("claude", "", "sonnet")
FIVE_HOUR = Window("claude", "", "*", "five_hour")


def closed(until: float, window: Window = FIVE_HOUR, **more: object) -> Limit:
    return replace(limit_on(window, NOW + until, Code.RATE_LIMITED, "slow down", NOW), **more)


@pytest.mark.parametrize(
    ("window", "met"),
    [
        (Window("claude"), True),
        (Window("claude", "", "sonnet", "requests"), True),
        (Window("claude", "", "*", "five_hour"), True),
        (Window("claude", "", "opus"), False),
        (Window("codex"), False),
        (Window("claude", "work"), False),
    ],
)
def test_a_limit_applies_to_the_calls_that_it_counts(window: Window, met: bool) -> None:
    """A limit applies to all models of the account or to one, in any window."""
    assert window.applies_to(SONNET) is met


def test_a_question_about_one_window_is_not_met_by_another() -> None:
    """Window names are compared if both are set."""
    assert not FIVE_HOUR.applies_to(replace(FIVE_HOUR, window="seven_day"))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (ModelConfig("a", "claude", "m"), ModelConfig("b", "claude", "m"), True),
        (ModelConfig("a", "claude", "m"), ModelConfig("b", "claude-acp", "m"), False),
        (ModelConfig("a", "claude", "m", "work"), ModelConfig("b", "claude-acp", "m", "work"), True),
        (ModelConfig("a", "claude", "m", "work"), ModelConfig("b", "claude", "m", "home"), False),
        (ModelConfig("a", "claude", "m", "work"), ModelConfig("b", "claude", "m"), False),
    ],
)
def test_choices_share_the_limits_of_their_account(
    one: ModelConfig, other: ModelConfig, shared: bool
) -> None:
    """A named account is shared by its executors; without a name each executor has its own."""
    assert window_for(one).applies_to(window_for(other)) is shared


@pytest.mark.parametrize("until", [NOW + 10 * DAY, inf, nan])
def test_an_absurd_end_is_cut(until: float) -> None:
    """Ten days, infinity and NaN are cut to the longest window."""
    assert limit_on(FIVE_HOUR, until, Code.QUOTA_EXCEEDED, "", NOW).until == NOW + LONGEST_SECONDS


class TestExtended:
    def test_a_shorter_limit_never_reopens(self) -> None:
        """The later end is kept with its reason."""
        again = closed(3600).extend(NOW + 70, Code.OVERLOADED, "busy", NOW + 60)
        assert (again.until, again.code, again.message) == (NOW + 3600, Code.RATE_LIMITED, "slow down")

    def test_a_longer_limit_wins(self) -> None:
        """The later end and its reason replace the limit, and end a probe."""
        leased = closed(10, probing_until=NOW + 70, prober="ada")
        again = leased.extend(NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW + 20)
        assert again == limit_on(FIVE_HOUR, NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW + 20)

    def test_one_of_a_wrong_clock_is_replaced(self) -> None:
        """A limit recorded in the future is replaced."""
        wrong = limit_on(FIVE_HOUR, NOW + 11 * DAY, Code.QUOTA_EXCEEDED, "", NOW + 10 * DAY)
        assert wrong.extend(NOW + 5, Code.RATE_LIMITED, "", NOW).until == NOW + 5


class TestAdmission:
    def test_nothing_known(self) -> None:
        """A call may start without a limit; one that was recorded in the future is probed."""
        assert check_admission([], "ada", NOW) == Open()
        assert check_admission([closed(60, noted_at=NOW + 61)], "ada", NOW) == Probe((FIVE_HOUR,))
        assert isinstance(check_admission([closed(60, noted_at=NOW + 59)], "ada", NOW), Closed)

    def test_the_latest_end_counts(self) -> None:
        """A call waits for the last of its windows."""
        limits = [closed(-5), closed(300, FIVE_HOUR), closed(20, Window("claude"))]
        assert check_admission(limits, "ada", NOW) == Closed(NOW + 300, Code.RATE_LIMITED, "slow down")

    def test_due_windows_are_probed_together(self) -> None:
        """One probe covers all windows of a call."""
        limits = [closed(-5), closed(0, Window("claude"))]
        assert check_admission(limits, "ada", NOW) == Probe((FIVE_HOUR, Window("claude")))

    def test_others_look_again_while_one_probes(self) -> None:
        """Other callers check again later or at the end of the lease; the prober may continue."""
        limits = [closed(-5, probing_until=NOW + 30, prober="ada")]
        assert check_admission(limits, "bob", NOW) == Closed(
            NOW + RECHECK_SECONDS, Code.RATE_LIMITED, "slow down", is_probed=True
        )
        later = check_admission(limits, "bob", NOW + 28)
        assert later == Closed(NOW + 30, Code.RATE_LIMITED, "slow down", is_probed=True)
        assert check_admission(limits, "ada", NOW) == Probe((FIVE_HOUR,))
        assert check_admission(limits, "bob", NOW + 30) == Probe((FIVE_HOUR,))

    def test_a_lease_of_a_wrong_clock_is_void(self) -> None:
        """A lease of ten days is ignored."""
        limits = [closed(-5, probing_until=NOW + 10 * DAY, prober="ada")]
        assert check_admission(limits, "bob", NOW) == Probe((FIVE_HOUR,))


def tired(failures: int = 3) -> Cooldown:
    rest = start_cooldown("sonnet", NOW)
    for _ in range(failures):
        rest = rest.after_failure(Code.OVERLOADED, "busy", NOW, 3, 600)
    return rest


class TestRest:
    def test_three_failures_start_a_cooldown(self) -> None:
        """Two failures are only counted."""
        assert tired(2).until is None
        assert (tired(3).until, tired(3).failures) == (NOW + 600, 3)

    def test_late_failures_change_nothing(self) -> None:
        """Failures of calls that started before the cooldown do not extend it."""
        assert tired(5) == tired(3)

    def test_a_failed_trial_starts_another_cooldown(self) -> None:
        """One failure after a cooldown starts the next one."""
        again = tired().after_failure(Code.TIMEOUT, "silent", NOW + 600, 99, 600)
        assert (again.until, again.failures, again.code) == (NOW + 1200, 4, Code.TIMEOUT)

    def test_a_success_ends_a_cooldown_and_offsets_a_failure(self) -> None:
        """A success ends a cooldown, and decrements the failures otherwise."""
        assert tired().after_success() is None
        two = tired(2).after_success()
        assert two is not None
        assert (two.failures, two.after_success()) == (1, None)

    def test_calls_are_blocked_during_a_cooldown(self) -> None:
        """Calls are blocked during a cooldown, and during a trial of another caller; otherwise not."""
        rest = tired()
        trial = replace(rest, trying_until=NOW + 600 + LEASE_SECONDS)
        assert rest.find_active(NOW + 599) == rest
        assert rest.find_active(NOW + 600) is None
        later = trial.find_active(NOW + 601)
        assert later is not None
        assert later.until == NOW + 601 + RECHECK_SECONDS
        assert trial.find_active(NOW + 600 + LEASE_SECONDS) is None
        assert rest.find_active(NOW - DAY) is None
        assert tired(2).find_active(NOW) is None
