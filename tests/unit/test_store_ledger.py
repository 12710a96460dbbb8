"""The ledger of a project, in each database: shared by all of its processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ostler.errors import Code
from ostler.store.ledger import Ledger
from ostler.store.store import Store

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def ledger(store: Store) -> Iterator[Ledger]:
    ledger = store.open_ledger()
    yield ledger
    ledger.close()


@pytest.fixture
def other(store: Store) -> Iterator[Ledger]:
    """The same store, as another process has it."""
    ledger = store.open_ledger()
    yield ledger
    ledger.close()


class TestRests:
    def test_a_rest_is_everyones(self, ledger: Ledger, other: Ledger) -> None:
        """Failures of all processes count together; the one that starts the cooldown gets True."""
        opened = [
            one.record_failure("sonnet", Code.TIMEOUT, "silent", NOW, 3, 600)
            for one in (ledger, other, ledger)
        ]
        assert opened == [False, False, True]
        rest = other.check_cooldown("sonnet", NOW + 1)
        assert rest is not None
        assert (rest.until, rest.failures, rest.code) == (NOW + 600, 3, Code.TIMEOUT)
        assert other.check_cooldown("opus", NOW + 1) is None

    def test_one_tries_after_a_rest(self, ledger: Ledger, other: Ledger) -> None:
        """Its success ends the cooldown for all, its failure starts another one."""
        for _ in range(3):
            ledger.record_failure("sonnet", Code.OVERLOADED, "busy", NOW, 3, 600)
        assert ledger.check_cooldown("sonnet", NOW + 600) is None
        assert other.check_cooldown("sonnet", NOW + 601) is not None
        assert ledger.record_failure("sonnet", Code.OVERLOADED, "busy", NOW + 602, 3, 600)
        assert other.check_cooldown("sonnet", NOW + 1201) is not None
        assert other.check_cooldown("sonnet", NOW + 1202) is None
        other.record_success("sonnet")
        assert ledger.check_cooldown("sonnet", NOW + 1203) is None
        assert ledger.cooldowns(NOW + 1203) == []

    def test_successes_outweigh_failures(self, ledger: Ledger) -> None:
        """One failing kind of calls of three does not put a model that works for the others into cooldown."""
        for _ in range(5):
            assert not ledger.record_failure("sonnet", Code.AGENT_FAILED, "", NOW, 3, 600)
            assert not ledger.record_failure("sonnet", Code.AGENT_FAILED, "", NOW, 3, 600)
            assert ledger.cooldowns(NOW)[0].failures == 2
            ledger.record_success("sonnet")
            ledger.record_success("sonnet")
            ledger.record_success("sonnet")

    def test_a_clock_that_jumps_rests_nothing_for_ever(self, ledger: Ledger) -> None:
        """Failures of a wrong clock are ignored (B12)."""
        for _ in range(3):
            ledger.record_failure("sonnet", Code.OVERLOADED, "busy", NOW + 10 * DAY, 3, 600)
        assert ledger.check_cooldown("sonnet", NOW) is None
        assert ledger.cooldowns(NOW) == []
        assert not ledger.record_failure("sonnet", Code.OVERLOADED, "busy", NOW, 3, 600)
        assert ledger.cooldowns(NOW)[0].failures == 1


class TestRepeats:
    def test_so_many_an_hour(self, ledger: Ledger, other: Ledger) -> None:
        """For all processes together; an hour later the first retry is free again."""
        assert [(ledger, other)[n % 2].take_retry(NOW + n, 5) for n in range(7)] == [True] * 5 + [False] * 2
        assert not ledger.take_retry(NOW + 3599, 5)
        assert ledger.take_retry(NOW + 3600, 5)
        assert not ledger.take_retry(NOW + 3600, 5)

    def test_none(self, ledger: Ledger) -> None:
        """A limit of zero allows no retries."""
        assert not ledger.take_retry(NOW, 0)

    def test_repeats_of_a_wrong_clock_do_not_count(self, ledger: Ledger) -> None:
        """The retries are not used up for ten days (B12), and the table does not grow."""
        assert [ledger.take_retry(NOW + 10 * DAY, 2) for _ in range(3)] == [True, True, False]
        assert [ledger.take_retry(NOW, 2) for _ in range(3)] == [True, True, False]

    def test_one_report_per_hour(self, ledger: Ledger, other: Ledger) -> None:
        """The first caller of all processes reports that the retries are used."""
        assert [ledger.take_retry_report(NOW), other.take_retry_report(NOW + 5)] == [True, False]
        assert other.take_retry_report(NOW + 3601)


class TestTurns:
    def test_round_robin_is_everyones(self, ledger: Ledger, other: Ledger) -> None:
        """The next model follows the one that any process used last; each pool has its own turn."""
        models = ["opus", "sonnet", "haiku"]
        assert ledger.next_turn(models) == 0
        ledger.take_turn(models, "opus")
        assert other.next_turn(models) == 1
        other.take_turn(models, "haiku")
        assert (ledger.next_turn(models), ledger.next_turn(models[:2])) == (0, 0)
        ledger.take_turn(models, "sonnet")
        other.reset_turns()
        assert ledger.next_turn(models) == 0
