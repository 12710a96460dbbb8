"""Pages of the list of tasks: every task once, in order, with every filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest
from msgspec.structs import replace

from journal_values import make_record, make_row
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.store.database import Value
from ostler.store.journal import Journal
from ostler.store.listing import InboxKey, Sort, TaskFilter, is_valid_cursor, sort_key
from ostler.store.sql_journal import SqlJournal
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.schema import APPLICATION_ID, MIGRATIONS
from ostler.testing.memory_journal import MemoryJournal
from portable_sql import find_problem
from postgres_world import empty_store
from stores import create_sqlite_store

EVERYTHING = TaskFilter(
    ("pending",), "x", "launch-ab12", (TaskId("task-01"), TaskId("task-04")), "P1", False, 1.0, ("review",)
)
SORTS: tuple[Sort, ...] = get_args(Sort)
STATUSES = ("pending", "in_progress", "completed")


def row(number: int) -> TaskRow:
    return replace(
        make_row(1, TaskId(f"task-{number:02d}"), created_at=float(number // 3)),
        title=f"Number {number} of 100%",
        status=STATUSES[number % 3],
        priority=f"P{number % 4}",
        updated_at=float(number % 7),
        pipeline="launch-ab12" if number % 5 == 0 else "",
        cost_usd=None if number % 2 else number / 10,
    )


ROWS = [row(number) for number in range(40)]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        opened: Journal = MemoryJournal()
    elif request.param == "postgres":
        opened = empty_store(request.getfixturevalue("postgres_server")).open_journal()
    else:
        opened = create_sqlite_store(tmp_path / "ostler.db").open_journal()
    with closing(opened):
        fill(opened)
        yield opened


@pytest.fixture
def sqlite_journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(tmp_path / "ostler.db", create=True) as made:
        fill(made)
        yield made


def fill(journal: Journal) -> None:
    with journal.transaction() if isinstance(journal, SqlJournal) else nullcontext():
        for one in ROWS:
            assert journal.append(make_record(1, one.id), one)


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("size", [1, 7, 40])
def test_pages_hold_every_task_once(journal: Journal, sort: Sort, size: int) -> None:
    """In the order of their keys, also when keys are equal."""
    seen: list[TaskRow] = []
    while page := journal.listing.page(TaskFilter(), sort, sort_key(seen[-1], sort) if seen else (), size):
        seen += journal.named_rows(page)
    ordered = sorted(ROWS, key=lambda one: sort_key(one, sort), reverse=sort != "priority")
    assert [one.id for one in seen] == [one.id for one in ordered]
    assert seen == ordered


@pytest.mark.parametrize(
    ("matching", "which"),
    [
        (TaskFilter(("pending",)), lambda n: n % 3 == 0),
        (TaskFilter(("completed", "failed")), lambda n: n % 3 == 2),
        (TaskFilter(("failed",)), lambda n: False),
        (TaskFilter(text="number 1"), lambda n: n == 1 or 10 <= n < 20),
        (TaskFilter(text="TASK-07"), lambda n: n == 7),
        (TaskFilter(text="%"), lambda n: True),
        (TaskFilter(text="_"), lambda n: False),
        (TaskFilter(text="0_o"), lambda n: False),
        (TaskFilter(text="!"), lambda n: False),
        (TaskFilter(pipeline="launch-ab12"), lambda n: n % 5 == 0),
        (TaskFilter(("pending",), "number", "launch-ab12"), lambda n: n % 15 == 0),
        (TaskFilter(priority="P1"), lambda n: n % 4 == 1),
        (TaskFilter(("pending",), priority="P1"), lambda n: n % 12 == 9),
        (TaskFilter(("pending",), without_owner=(TaskId("task-01"),)), lambda n: n % 3 == 0 or n == 1),
        (TaskFilter(("in_progress",), without_owner=(TaskId("task-01"),)), lambda n: n % 3 == 1 and n != 1),
        (TaskFilter(("pending",), without_owner=(TaskId("task-02"),)), lambda n: n % 3 == 0),
    ],
)
def test_what_matches(journal: Journal, matching: TaskFilter, which: object) -> None:
    """By status, part of title or id, run and priority; a task without a process counts as pending."""
    assert callable(which)
    wanted = {one.id for number, one in enumerate(ROWS) if which(number)}
    assert set(journal.listing.page(matching, "updated", (), 100)) == wanted
    assert journal.listing.total(matching) == len(wanted)


def test_counts_and_those_that_run(journal: Journal) -> None:
    """The number of each status; the running tasks, the oldest first; the pipeline runs."""
    assert journal.listing.counts() == {"pending": 14, "in_progress": 13, "completed": 13}
    assert journal.listing.running() == [one.id for one in ROWS if one.status == "in_progress"]
    assert journal.listing.pipeline_runs() == ["launch-ab12"]


def test_where_a_task_was_last_taken(journal: Journal) -> None:
    """The position of the task's own claim, not of other events."""
    task = ROWS[0].id
    journal.append(make_record(2, task, TaskReleased()), replace(ROWS[0], seq=2))
    journal.append(make_record(3, task, TaskClaimed("run-9")), replace(ROWS[0], seq=3))
    journal.append(make_record(4, task, TaskReleased()), replace(ROWS[0], seq=4))
    assert journal.listing.claim_position(task) == journal.position() - 1
    assert journal.listing.claim_position(TaskId("nobody")) == 0


@pytest.mark.parametrize("sort", SORTS)
def test_only_keys_of_tasks_fit(sort: Sort) -> None:
    """A cursor that a client made up is distinguished from one of a page."""
    assert is_valid_cursor(sort_key(ROWS[0], sort), sort)
    assert is_valid_cursor(sort_key(ROWS[1], sort), sort)
    for wrong in ((), ("x",), (1.0,), (1.0, 2.0, 3.0), ("a", "b"), ("a", 1.0)):
        assert not is_valid_cursor(wrong, sort)


@pytest.mark.parametrize("sort", SORTS)
def test_a_page_reads_no_state(
    sqlite_journal: SqliteJournal, sort: Sort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that a page needs is in one index."""
    plan: list[str] = []
    query = sqlite_journal._db.query

    def explain(sql: str, *values: Value) -> list[tuple[Any, ...]]:
        plan.extend(found[3] for found in query(f"EXPLAIN QUERY PLAN {sql}", *values))
        return query(sql, *values)

    monkeypatch.setattr(sqlite_journal._db, "query", explain)
    sqlite_journal.listing.page(TaskFilter(("pending",), "x"), sort, sort_key(ROWS[0], sort), 10)
    sqlite_journal.listing.total(TaskFilter(("pending",), "x"))
    sqlite_journal.listing.page(EVERYTHING, sort, sort_key(ROWS[0], sort), 10)
    sqlite_journal.listing.page(TaskFilter(), sort, (), 10)
    sqlite_journal.listing.total(EVERYTHING)
    sqlite_journal.listing.running()
    scans = [step for step in plan if " task " in step]
    assert len(scans) >= 7, plan
    assert all("COVERING INDEX listed_tasks" in step for step in scans), scans


@pytest.mark.parametrize("sort", SORTS)
def test_each_page_is_for_all_databases(
    sqlite_journal: SqliteJournal, sort: Sort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameters appear first in their order, whatever is asked for."""
    statements: list[tuple[str, int]] = []
    query = sqlite_journal._db.query

    def note(sql: str, *values: Value) -> list[tuple[Any, ...]]:
        statements.append((sql, len(values)))
        return query(sql, *values)

    monkeypatch.setattr(sqlite_journal._db, "query", note)
    listing = sqlite_journal.listing
    for which in (TaskFilter(), EVERYTHING):
        listing.page(which, sort, (), 10)
        listing.page(which, sort, sort_key(ROWS[0], sort), 10)
        listing.total(which)
        listing.in_reading_order(which, 50)
    assert len(statements) >= 12
    for sql, count in statements:
        assert not find_problem(sql)
        assert len(set(re.findall(r"\$\d+", sql))) == count


def test_tasks_of_an_older_store_are_listed_with_their_cost(tmp_path: Path) -> None:
    """The cost is read from the stored state; a state that is not JSON has none."""
    path = tmp_path / "ostler.db"
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA journal_mode = WAL").fetchall()
    for number, step in enumerate(MIGRATIONS[:3], 1):
        db.execute(f"{step}; PRAGMA user_version = {number}").fetchall()
    db.execute("INSERT INTO identity VALUES ('old')").fetchall()
    for task, state in (("dear", b'{"cost_usd": 2.5}'), ("free", b"{}"), ("odd", b"\xff")):
        values = "(?, 1, 'pending', 't', 'P2', 1, 2, ?, NULL, 1, '', NULL, 0, '', 0)"
        db.execute(f"INSERT INTO task VALUES {values}", (task, state)).fetchall()
    db.close()
    with SqliteJournal(path) as journal:
        page = journal.named_rows(journal.listing.page(TaskFilter(), "cost", (), 10))
    assert [(row.id, row.cost_usd) for row in page] == [("dear", 2.5), ("odd", None), ("free", None)]


def test_the_inbox_is_by_priority_and_then_by_the_time_of_waiting(journal: Journal) -> None:
    """Page by page; a change that keeps the status does not change the order, another status does."""
    waiting = [replace(one, need="review", seq=2, updated_at=100.0 + n) for n, one in enumerate(ROWS)]
    for at, one in enumerate(waiting[:9]):
        status = "blocked" if at % 2 else one.status
        changed = replace(one, status=status)
        assert journal.append(make_record(2, one.id), changed)
        again = replace(changed, seq=3, title="Renamed", updated_at=500.0 - at)
        assert journal.append(make_record(3, one.id), again)
    expected = [
        InboxKey(one.priority, one.updated_at if at % 2 else ROWS[at].updated_at, one.id)
        for at, one in enumerate(waiting[:9])
    ]
    expected.sort(key=lambda key: (key.priority, key.since, key.id))
    seen: list[InboxKey] = []
    while page := journal.listing.inbox("review", seen[-1] if seen else None, 2):
        seen += page
    assert seen == expected
    assert journal.listing.inbox("failed", None, 9) == []
    assert journal.listing.needs() == {"review": 9}


def waiting_row(number: int) -> TaskRow:
    """A task of one of ten kinds: every need, and every group of tasks that need nobody."""
    kinds = (
        ("blocked", "question"),
        ("needs_review", "review"),
        ("failed", "failed"),
        ("paused", "paused"),
        ("pending", ""),
        ("deferred", ""),
        ("in_progress", ""),
        ("completed", ""),
        ("cancelled", ""),
        ("paused", ""),  # cancelled, and no run has ended it yet
    )
    status, need = kinds[number % len(kinds)]
    return replace(
        make_row(1, TaskId(f"kind-{number:03d}"), created_at=float(number * 7 % 40)),
        status=status,
        need=need,
        priority=f"P{number % 3}",
        updated_at=float(number * 11 % 30),
        queued_at=float(number) if number % 4 == 0 else None,
        archived_at=1.0 if status == "completed" and number % 3 == 0 else None,
    )


MATCHING = (
    TaskFilter(),
    TaskFilter(archived=True),
    TaskFilter(("paused", "completed")),
    TaskFilter(("cancelled",), needs=("review", "failed")),
    TaskFilter(needs=("question",), priority="P1"),
    TaskFilter(("pending",), without_owner=(TaskId("kind-006"), TaskId("kind-016"))),
    TaskFilter(("in_progress",), without_owner=(TaskId("kind-006"),), priority="P0"),
    TaskFilter(since=12.0),
    TaskFilter(text="KIND-01"),
)


@pytest.fixture
def listings(journal: Journal) -> tuple[Journal, MemoryJournal]:
    """The journal and one in memory with the same further tasks."""
    expected = MemoryJournal()
    fill(expected)
    for one in (journal, expected):
        with one.transaction() if isinstance(one, SqlJournal) else nullcontext():
            for number in range(60):
                made = waiting_row(number)
                assert one.append(make_record(1, made.id), made)
    return journal, expected


@pytest.mark.parametrize("limit", [None, 1, 13])
def test_the_reading_order(listings: tuple[Journal, MemoryJournal], limit: int | None) -> None:
    """Questions, reviews, failures, then running, waiting and paused tasks, then the ended ones."""
    journal, expected = listings
    for matching in MATCHING:
        found = journal.listing.in_reading_order(matching, limit)
        assert found == expected.listing.in_reading_order(matching, limit), matching
    every = journal.named_rows(journal.listing.in_reading_order(TaskFilter()))
    words = [row.need or row.status for row in every if row.need or row.status != "paused"]
    order = list(dict.fromkeys(words))
    assert order[:4] == ["question", "review", "failed", "in_progress"]
    assert order[6] == "paused" and {*order[4:6]} == {"pending", "deferred"}
    assert {*order[7:]} == {"completed", "cancelled"}


def test_counts_are_those_of_the_tasks(listings: tuple[Journal, MemoryJournal]) -> None:
    """After each kind of change: a status, a need, a priority, an archived and a removed task."""
    journal, expected = listings

    def compare() -> None:
        for matching in MATCHING:
            assert journal.listing.counts(matching) == expected.listing.counts(matching), matching
            assert journal.listing.needs(matching) == expected.listing.needs(matching), matching
            assert journal.listing.total(matching) == expected.listing.total(matching)
        assert journal.listing.waiting() == expected.listing.waiting()
        assert journal.listing.queue("P1", 9) == expected.listing.queue("P1", 9) != []

    compare()
    changes: tuple[dict[str, object], ...] = (
        {"status": "completed", "need": ""},
        {"status": "needs_review", "need": "review"},
        {"priority": "P4"},
        {"archived_at": 9.0, "status": "cancelled", "need": ""},
        {"archived_at": None},
        {"title": "Only the title"},
        {"removed": True},
    )
    row = waiting_row(4)
    for seq, change in enumerate(changes, start=2):
        row = replace(row, seq=seq, **change)
        for one in (journal, expected):
            assert one.append(make_record(seq, row.id), row)
        compare()
    assert journal.row(row.id) is None


def test_a_failed_write_counts_nothing(sqlite_journal: SqliteJournal) -> None:
    """The counts are part of the transaction."""
    before = sqlite_journal.listing.counts()
    with pytest.raises(RuntimeError), sqlite_journal.transaction():
        sqlite_journal.append(make_record(2, ROWS[0].id), replace(ROWS[0], seq=2, status="failed"))
        raise RuntimeError
    assert sqlite_journal.listing.counts() == before


def test_dependent_tasks(journal: Journal) -> None:
    """Open tasks that depend on others, and no others."""
    row = replace(ROWS[0], seq=2, after=(ROWS[1].id,))
    assert journal.append(make_record(2, row.id), row)
    assert journal.listing.dependent() == [row.id]
    assert journal.append(make_record(3, row.id), replace(row, seq=3, open=False))
    assert journal.listing.dependent() == []
