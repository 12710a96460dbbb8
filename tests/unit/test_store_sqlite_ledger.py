"""The ledger in SQLite: shared, durable, fast to query, and with clear errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files import failpoint
from ostler.store.ledger import Ledger
from ostler.store.sqlite import SqliteJournal
from ostler.store.sqlite_ledger import SqliteLedger

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / ".ostler" / "ostler.db"
    SqliteJournal(path, create=True).close()
    return path


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = SqliteLedger(path, busy_timeout_seconds=0.1)
    yield ledger
    ledger.close()
    failpoint.arm("")


@pytest.fixture
def other(path: Path) -> Iterator[Ledger]:
    """The same store, as another process has it."""
    ledger = SqliteLedger(path)
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


class TestStore:
    def test_opened_on_first_use(self, tmp_path: Path) -> None:
        """A run without limits opens no file; without a store the first query raises."""
        ledger = SqliteLedger(tmp_path / "ostler.db")
        ledger.close()
        with pytest.raises(UsageError, match="no Ostler project here"):
            ledger.take_retry(NOW, 5)
        assert list(tmp_path.iterdir()) == []

    def test_goes_on_after_close(self, ledger: Ledger) -> None:
        """Closing twice is allowed, and a later query opens the store again."""
        ledger.take_retry(NOW, 5)
        ledger.close()
        ledger.close()
        assert ledger.count_retries(NOW) == 1

    def test_every_write_is_flushed(self, ledger: SqliteLedger) -> None:
        """FULL, like the journal: a recorded retry survives a power cut."""
        assert ledger._db.connection.pragma("synchronous") == 2

    def test_busy(self, path: Path, ledger: Ledger) -> None:
        """A store that is locked too long is busy; reads work, and writes too when it is free (B16)."""
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError) as caught:
            ledger.take_retry(NOW, 5)
        assert caught.value.code is Code.STATE_BUSY
        assert ledger.count_retries(NOW) == 0
        holder.execute("ROLLBACK")
        assert ledger.take_retry(NOW, 5)

    @pytest.mark.parametrize(("action", "code"), [("enospc", Code.DISK_FULL), ("eio", Code.STORAGE_ERROR)])
    def test_a_disk_that_refuses(self, ledger: Ledger, action: str, code: Code) -> None:
        """Nothing is written in part; a full disk recovers, one that cannot flush is not used again (B13,
        B14).
        """
        failpoint.arm(f"ledger.write:{action}")
        with pytest.raises(OstlerError) as caught:
            ledger.take_retry(NOW, 5)
        assert caught.value.code is code
        assert ledger.count_retries(NOW) == 0
        if code is Code.DISK_FULL:
            assert ledger.take_retry(NOW, 5)
        else:
            with pytest.raises(OstlerError):
                ledger.take_retry(NOW, 5)

    def test_damage_is_reported(self, path: Path, ledger: Ledger) -> None:
        """Unexpected tables are refused (B17)."""
        apsw.Connection(str(path)).execute("DROP TABLE breaker")
        with pytest.raises(StateError) as caught:
            ledger.check_cooldown("sonnet", NOW)
        assert caught.value.code is Code.STATE_CORRUPT
