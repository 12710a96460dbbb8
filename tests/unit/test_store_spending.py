"""Totals of costs over the attempts: of a day, of a task, of rows that an older version wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import apsw
import pytest
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_attempt
from ostler.errors import UsageError
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.store import codec
from ostler.store.spending import _SUM_SINCE, SpentAmount, day_start, next_day_start
from ostler.store.sql_journal import SqlJournal
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.store.store import Store

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
DAY = 86400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ostler" / "ostler.db"


@pytest.fixture
def journal(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path, create=True) as journal:
        yield journal


@pytest.fixture
def each_journal(store: Store) -> Iterator[SqlJournal]:
    with store.open_journal() as journal:
        yield journal


def pay(
    journal: SqlJournal, cost_usd: float | None, at: float = NOON, task: TaskId = TASK, **more: object
) -> Attempt:
    """An attempt of a minute that ended at this time."""
    attempt = make_attempt(task, started_at=at - 60)
    attempt = replace(attempt, number=journal.begin_attempt(attempt))
    ended = replace(attempt, status="failed", duration_ms=60_000, cost_usd=cost_usd, **more)
    assert journal.end_attempt(ended)
    return ended


def forget_columns(store: Store) -> None:
    """As an older version left the rows, in SQLite or copied from there: all values are in the body."""
    with store.open_journal() as journal, journal.transaction():
        journal._db.run("UPDATE attempt SET ended_at = NULL, cost_usd = NULL")


@pytest.mark.parametrize("old", [False, True])
def test_what_was_spent_today(store: Store, each_journal: SqlJournal, old: bool) -> None:
    """Failed attempts count, yesterday's do not, unknown ones are counted separately, running ones not at
    all.
    """
    pay(each_journal, 0.5)
    pay(each_journal, 0.25, NOON - 11 * 3600, OTHER)
    pay(each_journal, 100.0, NOON - 13 * 3600)
    pay(each_journal, None)
    if old:
        forget_columns(store)
    each_journal.begin_attempt(make_attempt(OTHER, started_at=NOON))
    with store.open_spending() as spending:
        assert spending.spent_today(NOON, UTC) == SpentAmount(0.75, 1)
        pay(each_journal, 0.125, NOON + 1)
        assert spending.spent_today(NOON, UTC) == SpentAmount(0.875, 1)


def test_the_cost_of_a_task_includes_all_its_attempts(store: Store, each_journal: SqlJournal) -> None:
    """A task that is retried weeks later includes its earlier cost; other tasks do not count."""
    pay(each_journal, 0.5, NOON - 30 * DAY)
    pay(each_journal, 0.25)
    pay(each_journal, None)
    pay(each_journal, 9.0, task=OTHER)
    with store.open_spending() as spending:
        assert spending.spent_on(TASK) == SpentAmount(0.75, 1)
        assert spending.spent_on(TaskId("nobody-ab12")) == SpentAmount()


@pytest.mark.parametrize("old", [False, True])
def test_the_ended_attempts_of_a_time(store: Store, each_journal: SqlJournal, old: bool) -> None:
    """Every attempt is returned once, with the time of its end, from the given moment on."""
    paid = [pay(each_journal, 0.1, NOON - days * DAY) for days in (3, 2, 1, 0)]
    if old:
        forget_columns(store)
    each_journal.begin_attempt(make_attempt(OTHER, started_at=NOON))
    with store.open_spending() as spending:
        assert [one.attempt for one in spending.ended()] == paid
        assert [one.at for one in spending.ended(NOON - 2 * DAY)] == [NOON - 2 * DAY, NOON - DAY, NOON]


def test_many_attempts_are_read_page_by_page(
    store: Store, each_journal: SqlJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row of a page is not read twice, and none is left out."""
    monkeypatch.setattr("ostler.store.spending._PAGE", 3)
    with each_journal.transaction():
        for number in range(10):
            pay(each_journal, 1.0, task=TaskId(f"task-{number % 3}"))
    with store.open_spending() as spending:
        found = [(one.attempt.task, one.attempt.number) for one in spending.ended()]
    assert len(found) == len(set(found)) == 10


def test_an_attempt_of_an_older_version(store: Store, each_journal: SqlJournal) -> None:
    """A row without source and billing can be read: its cost was reported, its billing is unknown."""
    paid = pay(each_journal, 0.5)
    body = codec.encode_attempt(paid).replace(b',"billing":"unknown","cost_source":null', b"")
    assert b"billing" not in body
    read = codec.decode_attempt(body)
    assert (read.known_cost_source, read.billing, replace(read, cost_usd=None).known_cost_source) == (
        "reported",
        "unknown",
        "unknown",
    )


def test_no_project(tmp_path: Path) -> None:
    """Without a store none is created."""
    with pytest.raises(UsageError):
        SqliteStore(tmp_path / "ostler.db").open_spending()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-15", 24), ("2026-02-28", 24)]
)
def test_days_of_23_and_25_hours(day: str, hours: int) -> None:
    """A day lasts from midnight to midnight in local time."""
    berlin = ZoneInfo("Europe/Berlin")
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=berlin).timestamp()
    begin, end = day_start(noon, berlin), next_day_start(noon, berlin)
    assert (end - begin) / 3600 == hours
    assert day_start(begin, berlin) == begin and day_start(end - 1, berlin) == begin


def test_the_sum_of_a_day_is_cheap(path: Path, journal: SqliteJournal) -> None:
    """The total of a day is read from the index alone, however many attempts there were on other days."""
    rows = [(f"task-{n}", 1, NOON - n * 60.0, 0.01) for n in range(20_000)]
    body = codec.encode_attempt(make_attempt())
    columns = "task, number, status, ended_at, cost_usd, body"
    db = apsw.Connection(str(path))
    with db:
        sql = f"INSERT INTO attempt ({columns}) VALUES (?, ?, 'failed', ?, ?, ?)"
        db.executemany(sql, [(*row, body) for row in rows])
    plan = db.execute(f"EXPLAIN QUERY PLAN {_SUM_SINCE}", (1.0,)).fetchall()
    db.close()
    assert "COVERING INDEX ended_attempts" in str(plan)
    with SqliteStore(path).open_spending() as spending:
        assert spending.spent_today(NOON, UTC).usd == pytest.approx(7.21)
        started = time.perf_counter()
        for _ in range(100):
            spending.spent_today(NOON, UTC)
        assert (time.perf_counter() - started) / 100 < 0.01  # ten times the documented limit
