"""Migrations: the content is kept, and a kill leaves the old or the new version."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from journal_values import TASK, make_attempt, make_record, make_row
from ostler.store import codec
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, newest_version
from ostler.store.sqlite.store import SqliteStore

# Version 1 as it was released; written out, so that an edit of the released migration is detected.
FIRST = """
CREATE TABLE identity (store_id TEXT NOT NULL);
CREATE TABLE feed (
    position INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, seq INTEGER, at REAL NOT NULL,
    type TEXT NOT NULL, step TEXT NOT NULL, basis INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX record_once ON feed (task, seq);
CREATE TABLE task (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL, status TEXT NOT NULL, title TEXT NOT NULL,
    priority TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL, state BLOB NOT NULL,
    resumes_at REAL, open INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX open_tasks ON task (created_at) WHERE open;
CREATE TABLE attempt (
    task TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;
"""
COLUMNS = "SELECT m.name, c.name, c.type, c.[notnull], c.pk FROM sqlite_schema m, pragma_table_info(m.name) c"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A store of version 1 with a record, a task and an attempt of each kind, as a kill left it."""
    path = tmp_path / "ostler.db"
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA journal_mode = WAL").fetchall()
    db.execute(FIRST + "PRAGMA user_version = 1; INSERT INTO identity VALUES ('old')").fetchall()
    kind, body = codec.encode_event(make_record(1).event)
    db.execute(
        "INSERT INTO feed (task, seq, at, type, step, basis, body) VALUES (?, 1, 5, ?, '', 0, ?)",
        (TASK, kind, body),
    )
    row = make_row(1)
    db.execute(
        "INSERT INTO task VALUES (?, 1, 'pending', ?, 'medium', 1, 2, ?, NULL, 1)",
        (TASK, row.title, row.state),
    )
    for number, status in ((1, "interrupted"), (2, "running")):
        attempt = codec.encode_attempt(replace(make_attempt(number=number), status=status))
        db.execute("INSERT INTO attempt VALUES (?, ?, ?, ?)", (TASK, number, status, attempt))
    db.close()
    return path


def endings(path: Path) -> list[tuple[object, ...]]:
    found = apsw.Connection(str(path)).execute("SELECT ended_at, cost_usd FROM attempt ORDER BY number")
    return found.fetchall()


def test_the_released_migration_is_as_it_was() -> None:
    """The first entry still creates the tables of version 1, column for column."""
    made, released = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    made.execute(MIGRATIONS[0]).fetchall()
    released.execute(FIRST).fetchall()
    assert made.execute(COLUMNS).fetchall() == released.execute(COLUMNS).fetchall()


def test_version_1_is_brought_forward(first: Path) -> None:
    """Records, tasks and attempts are unchanged; attempts that end from now on have time and cost."""
    with SqliteJournal(first) as journal:
        assert journal._db.connection.pragma("user_version") == len(MIGRATIONS)
        assert journal.store_id == "old"
        assert [record.seq for record in journal.read(TASK)] == [1]
        assert [row.id for row in journal.open_rows()] == [TASK]
        assert [attempt.status for attempt in journal.attempts(TASK)] == ["interrupted", "running"]
        assert endings(first) == [(None, None), (None, None)]
        done = replace(make_attempt(number=2, started_at=100.0), duration_ms=2500, cost_usd=0.25)
        assert journal.end_attempt(replace(done, status="succeeded"))
    assert endings(first) == [(None, None), (102.5, 0.25)]


def test_an_attempt_that_was_cut_off_ends_when_that_is_noticed(first: Path) -> None:
    """Its cost is unknown, which is not zero."""
    with SqliteJournal(first) as journal:
        assert journal.begin_attempt(make_attempt(started_at=500.0)) == 3
    assert endings(first) == [(None, None), (500.0, None), (None, None)]


def test_the_ledger_brings_it_forward_too(first: Path) -> None:
    """The first process that opens the store migrates it."""
    ledger = SqliteStore(first).open_ledger()
    assert ledger.take_retry(1.0, 5)
    assert ledger.count_retries(1.0) == 1
    ledger.close()


def test_sums_of_a_day_read_the_index_alone(first: Path) -> None:
    """However long the history is."""
    with SqliteJournal(first) as journal:
        query = "EXPLAIN QUERY PLAN SELECT sum(cost_usd) FROM attempt WHERE ended_at >= ? AND ended_at < ?"
        plan = [str(row[3]) for row in journal._db.connection.execute(query, (1.0, 2.0)).fetchall()]
    assert plan == ["SEARCH attempt USING COVERING INDEX ended_attempts (ended_at>? AND ended_at<?)"]


@pytest.mark.parametrize("step", ["before the commit", "after it"])
def test_kill_while_migrating(first: Path, step: str) -> None:
    """kill -9 leaves version 1 or the newest, complete, and the next start continues from there (B18)."""
    code = "import sys, pathlib; from ostler.store.sqlite.store import SqliteStore as S"
    code += "; ledger = S(pathlib.Path(sys.argv[1])).open_ledger(); ledger.take_retry(1.0, 5)"
    point = "store.migrate:kill" if step == "before the commit" else "ledger.write:kill"
    done = subprocess.run(
        [sys.executable, "-c", code, str(first)], env=os.environ | {"OSTLER_FAILPOINT": point}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    db = apsw.Connection(str(first))
    found = db.pragma("user_version")
    assert found == (1 if step == "before the commit" else newest_version())
    assert db.table_exists(None, "breaker") is (found > 1)
    assert len(db.execute("PRAGMA table_info(attempt)").fetchall()) == (4 if found == 1 else 6)
    db.close()
    with SqliteJournal(first) as journal:
        assert len(journal.attempts(TASK)) == 2
        assert journal._db.connection.pragma("integrity_check") == "ok"
        assert journal._db.connection.pragma("user_version") == len(MIGRATIONS)
