"""Limits and rests as values: what they leave to the next call."""

from __future__ import annotations

from math import inf, nan

import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.choice import Choice
from ostler.model.limit import (
    LEASE_SECONDS,
    LONGEST_SECONDS,
    LOOK_AGAIN_SECONDS,
    Closed,
    Limit,
    Open,
    Probe,
    Rest,
    Window,
    admission,
    fresh,
    limit_on,
    window_of,
)

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
def test_a_limit_stands_in_the_way_of_what_counts_against_it(window: Window, met: bool) -> None:
    """All models of the account, or the one; whatever the provider calls the window."""
    assert window.concerns(SONNET) is met


def test_a_question_about_one_window_is_not_met_by_another() -> None:
    """Names matter once both sides have one."""
    assert not FIVE_HOUR.concerns(replace(FIVE_HOUR, window="seven_day"))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (Choice("a", "claude", "m"), Choice("b", "claude", "m"), True),
        (Choice("a", "claude", "m"), Choice("b", "claude-acp", "m"), False),
        (Choice("a", "claude", "m", "work"), Choice("b", "claude-acp", "m", "work"), True),
        (Choice("a", "claude", "m", "work"), Choice("b", "claude", "m", "home"), False),
        (Choice("a", "claude", "m", "work"), Choice("b", "claude", "m"), False),
    ],
)
def test_choices_share_the_limits_of_their_account(one: Choice, other: Choice, shared: bool) -> None:
    """A named account counts for every executor that uses it; without a name each executor has its own."""
    assert window_of(one).concerns(window_of(other)) is shared


@pytest.mark.parametrize("until", [NOW + 10 * DAY, inf, nan])
def test_an_absurd_end_is_cut(until: float) -> None:
    """Ten days, for ever and nonsense all end after the longest window that anyone has."""
    assert limit_on(FIVE_HOUR, until, Code.QUOTA_EXCEEDED, "", NOW).until == NOW + LONGEST_SECONDS


class TestExtended:
    def test_a_shorter_limit_never_reopens(self) -> None:
        """The longer end stays, with the reason that it has."""
        again = closed(3600).extended(NOW + 70, Code.OVERLOADED, "busy", NOW + 60)
        assert (again.until, again.code, again.message) == (NOW + 3600, Code.RATE_LIMITED, "slow down")

    def test_a_longer_limit_wins(self) -> None:
        """With its reason; a probe that was out is over."""
        leased = closed(10, probing_until=NOW + 70, prober="ada")
        again = leased.extended(NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW + 20)
        assert again == limit_on(FIVE_HOUR, NOW + 900, Code.QUOTA_EXCEEDED, "used up", NOW + 20)

    def test_one_of_a_wrong_clock_is_replaced(self) -> None:
        """What was noted in the future has no say."""
        wrong = limit_on(FIVE_HOUR, NOW + 11 * DAY, Code.QUOTA_EXCEEDED, "", NOW + 10 * DAY)
        assert wrong.extended(NOW + 5, Code.RATE_LIMITED, "", NOW).until == NOW + 5


class TestAdmission:
    def test_nothing_known(self) -> None:
        """Open without a limit, and with one that a wrong clock noted."""
        assert admission([], "ada", NOW) == Open()
        assert admission([closed(60, noted_at=NOW + 61)], "ada", NOW) == Open()
        assert admission([closed(60, noted_at=NOW + 59)], "ada", NOW) != Open()

    def test_the_latest_end_counts(self) -> None:
        """A call waits for the last of its windows."""
        limits = [closed(-5), closed(300, FIVE_HOUR), closed(20, Window("claude"))]
        assert admission(limits, "ada", NOW) == Closed(NOW + 300, Code.RATE_LIMITED, "slow down")

    def test_due_windows_are_probed_together(self) -> None:
        """One call answers for all of its windows."""
        limits = [closed(-5), closed(0, Window("claude"))]
        assert admission(limits, "ada", NOW) == Probe((FIVE_HOUR, Window("claude")))

    def test_others_look_again_while_one_probes(self) -> None:
        """In a few seconds, or sooner when the prober is then taken for dead; the prober itself may go on."""
        limits = [closed(-5, probing_until=NOW + 30, prober="ada")]
        assert admission(limits, "bob", NOW) == Closed(
            NOW + LOOK_AGAIN_SECONDS, Code.RATE_LIMITED, "slow down"
        )
        assert admission(limits, "bob", NOW + 28) == Closed(NOW + 30, Code.RATE_LIMITED, "slow down")
        assert admission(limits, "ada", NOW) == Probe((FIVE_HOUR,))
        assert admission(limits, "bob", NOW + 30) == Probe((FIVE_HOUR,))

    def test_a_lease_of_a_wrong_clock_is_void(self) -> None:
        """Nobody probes for ten days."""
        limits = [closed(-5, probing_until=NOW + 10 * DAY, prober="ada")]
        assert admission(limits, "bob", NOW) == Probe((FIVE_HOUR,))


def tired(failures: int = 3) -> Rest:
    rest = fresh("sonnet", NOW)
    for _ in range(failures):
        rest = rest.failed(Code.OVERLOADED, "busy", NOW, 3, 600)
    return rest


class TestRest:
    def test_three_failures_begin_a_rest(self) -> None:
        """Two are only counted."""
        assert tired(2).until is None
        assert (tired(3).until, tired(3).failures) == (NOW + 600, 3)

    def test_late_failures_change_nothing(self) -> None:
        """Calls that began before the rest do not make it longer."""
        assert tired(5) == tired(3)

    def test_a_failed_trial_begins_another_rest(self) -> None:
        """One failure is enough then."""
        again = tired().failed(Code.TIMEOUT, "silent", NOW + 600, 99, 600)
        assert (again.until, again.failures, again.code) == (NOW + 1200, 4, Code.TIMEOUT)

    def test_a_success_ends_a_rest_and_outweighs_a_failure(self) -> None:
        """Open becomes closed; two become one; one becomes nothing."""
        assert tired().recovered() is None
        two = tired(2).recovered()
        assert two is not None
        assert (two.failures, two.recovered()) == (1, None)

    def test_who_is_turned_away(self) -> None:
        """All while it rests; while one tries, the others; nobody afterwards, or when the clock was wrong."""
        rest = tired()
        trial = replace(rest, trying_until=NOW + 600 + LEASE_SECONDS)
        assert rest.turned_away(NOW + 599) == rest
        assert rest.turned_away(NOW + 600) is None
        later = trial.turned_away(NOW + 601)
        assert later is not None
        assert later.until == NOW + 601 + LOOK_AGAIN_SECONDS
        assert trial.turned_away(NOW + 600 + LEASE_SECONDS) is None
        assert rest.turned_away(NOW - DAY) is None
        assert tired(2).turned_away(NOW) is None
