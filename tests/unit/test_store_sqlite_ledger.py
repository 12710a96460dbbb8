"""The ledger in SQLite: shared, durable, fast to query, and with clear errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files import failpoint
from ostler.store.ledger import Ledger
from ostler.store.sql_ledger import SqlLedger
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / ".ostler" / "ostler.db"
    SqliteJournal(path, create=True).close()
    return path


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = SqliteStore(path, busy_timeout_seconds=0.1).open_ledger()
    yield ledger
    ledger.close()
    failpoint.arm("")


class TestStore:
    def test_opened_on_first_use(self, tmp_path: Path) -> None:
        """A run without limits opens no file; without a store the first query raises."""
        ledger = SqliteStore(tmp_path / "ostler.db").open_ledger()
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

    def test_every_write_is_flushed(self, ledger: SqlLedger) -> None:
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
