"""The journal in SQLite: locked by others, and on a failing disk."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from journal_values import OTHER, TASK, make_attempt, make_record, make_row
from ostler.errors import Code, OstlerError, StateError
from ostler.files import failpoint
from ostler.model.notice import ParseError
from ostler.store.sqlite.journal import SqliteJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ostler" / "ostler.db"


@pytest.fixture
def journal(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path, create=True, busy_timeout_seconds=0.1) as journal:
        yield journal
    failpoint.arm("")


def test_a_journal_that_is_closed_twice(path: Path) -> None:
    """`with Ostler(project)` closes the journal of the project, which may be in a `with` of its own."""
    journal = SqliteJournal(path, create=True)
    journal.close()
    assert not path.with_name("ostler.db-wal").exists()
    journal.close()


def test_locked_longer_than_the_timeout(path: Path, journal: SqliteJournal) -> None:
    """A locked journal is busy, nothing is written, and it works when the lock is released."""
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StateError) as caught:
        journal.append(make_record(1), make_row(1))
    assert caught.value.code is Code.STATE_BUSY
    holder.execute("ROLLBACK")
    assert journal.read(TASK) == []
    assert journal.append(make_record(1), make_row(1))


def test_waits_for_a_short_holder(path: Path) -> None:
    """A lock that is shorter than the timeout only delays the write."""
    with SqliteJournal(path, create=True, busy_timeout_seconds=10) as journal:
        code = "import apsw,sys,time; db=apsw.Connection(sys.argv[1]); db.execute('BEGIN IMMEDIATE')"
        code += "; print(1, flush=True); time.sleep(0.2); db.execute('COMMIT')"
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            started = time.monotonic()
            assert journal.append(make_record(1), make_row(1))
            assert 0.05 < time.monotonic() - started < 10


@pytest.mark.parametrize(("action", "code"), [("enospc", Code.DISK_FULL), ("eio", Code.STORAGE_ERROR)])
def test_failure_before_the_commit(journal: SqliteJournal, action: str, code: Code) -> None:
    """A write that the disk refuses raises its code, and changes nothing."""
    assert journal.append(make_record(1), make_row(1))
    failpoint.arm(f"journal.append:{action}")
    with pytest.raises(OstlerError) as caught:
        journal.append(make_record(2), make_row(2), [ParseError("x")])
    assert caught.value.code is code
    assert [record.seq for record in journal.read(TASK)] == [1]
    assert len(journal.feed()) == 1


def test_full_disk_heals(journal: SqliteJournal) -> None:
    """When space is free again the same journal works."""
    failpoint.arm("journal.append:enospc")
    with pytest.raises(OstlerError):
        journal.append(make_record(1), make_row(1))
    assert journal.append(make_record(1), make_row(1))


def test_failed_flush_stops_the_writer(path: Path, journal: SqliteJournal) -> None:
    """After an error of the disk nothing more is written until the journal is opened again."""
    failpoint.arm("journal.append:eio")
    with pytest.raises(OstlerError):
        journal.append(make_record(1), make_row(1))
    for write in (
        lambda: journal.append(make_record(1), make_row(1)),
        lambda: journal.notify(TASK, 1.0, [ParseError("x")]),
        lambda: journal.begin_attempt(make_attempt()),
        lambda: journal.end_attempt(make_attempt(number=1)),
    ):
        with pytest.raises(OstlerError) as caught:
            write()
        assert caught.value.code is Code.STORAGE_ERROR
    assert journal.read(TASK) == []
    with SqliteJournal(path) as again:
        assert again.append(make_record(1), make_row(1))


def test_version_sees_other_writers(path: Path, journal: SqliteJournal) -> None:
    """The version changes when another connection wrote, and only then."""
    before = journal.version()
    assert journal.version() == before
    with SqliteJournal(path) as other:
        other.append(make_record(1), make_row(1))
    assert journal.version() != before


def test_transaction_is_all_or_nothing(journal: SqliteJournal) -> None:
    """Everything that is written inside a failed transaction is rolled back."""
    with pytest.raises(ZeroDivisionError), journal.transaction():
        journal.append(make_record(1), make_row(1))
        journal.begin_attempt(make_attempt(OTHER))
        raise ZeroDivisionError
    assert (journal.feed(), journal.rows(), journal.attempts(OTHER)) == ([], [], [])


def test_unreadable_event_is_refused(path: Path, journal: SqliteJournal) -> None:
    """An event of a known type with invalid content is an error."""
    journal.append(make_record(1), make_row(1))
    apsw.Connection(str(path)).execute('UPDATE feed SET body = \'{"type":"task_claimed"}\'')
    with pytest.raises(StateError, match="task_claimed") as caught:
        journal.read(TASK)
    assert caught.value.code is Code.STATE_CORRUPT


@pytest.mark.parametrize(
    "query",
    [
        "_SELECT_RECORDS",
        "_SELECT_TASK",
        "_SELECT_NEWEST",
        "_SELECT_FEED",
        "_SELECT_FEED_OF_TASK",
        "_FIND_TASKS",
        "_SELECT_LATE_REVIEWS",
    ],
)
def test_queries_use_an_index(journal: SqliteJournal, query: str) -> None:
    """No repeated query of a run reads a whole table."""
    from ostler.store import sql_journal

    sql = getattr(sql_journal, query)
    values = (1,) * len(set(re.findall(r"\$\d+", sql)))
    plan = journal._db.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
    assert not [row[3] for row in plan if str(row[3]).startswith("SCAN")]


def test_open_tasks_are_read_from_their_index(journal: SqliteJournal) -> None:
    """The tasks that ended are not read."""
    from ostler.store.sql_journal import _SELECT_OPEN_TASKS

    plan = journal._db.query(f"EXPLAIN QUERY PLAN {_SELECT_OPEN_TASKS}")
    assert plan[0][3] == "SCAN task USING INDEX open_tasks"


def test_reading_needs_no_event_loop() -> None:
    """`ostler status` does not import asyncio."""
    code = "import sys, ostler.store.sqlite.journal; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
