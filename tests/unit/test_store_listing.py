"""Pages of the list of tasks: every task once, in order, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest
from msgspec.structs import replace

from journal_values import make_record, make_row
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.store.listing import Matching, Sort, fits, key_of
from ostler.store.schema import APPLICATION_ID, MIGRATIONS
from ostler.store.sqlite import SqliteJournal
from ostler.store.statement import Value

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


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(tmp_path / "ostler.db", create=True) as made:
        for one in ROWS:
            assert made.append(make_record(1, one.id), one)
        yield made


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("size", [1, 7, 40])
def test_pages_hold_every_task_once(journal: SqliteJournal, sort: Sort, size: int) -> None:
    """In the order of their keys, whatever is equal in them."""
    seen: list[TaskRow] = []
    while page := journal.listing.page(Matching(), sort, key_of(seen[-1], sort) if seen else (), size):
        seen += journal.named_rows(page)
    ordered = sorted(ROWS, key=lambda one: key_of(one, sort), reverse=sort != "priority")
    assert [one.id for one in seen] == [one.id for one in ordered]
    assert seen == ordered


@pytest.mark.parametrize(
    ("matching", "which"),
    [
        (Matching(("pending",)), lambda n: n % 3 == 0),
        (Matching(("completed", "failed")), lambda n: n % 3 == 2),
        (Matching(("failed",)), lambda n: False),
        (Matching(text="number 1"), lambda n: n == 1 or 10 <= n < 20),
        (Matching(text="TASK-07"), lambda n: n == 7),
        (Matching(text="%"), lambda n: True),
        (Matching(text="_"), lambda n: False),
        (Matching(text="0_o"), lambda n: False),
        (Matching(text="!"), lambda n: False),
        (Matching(pipeline="launch-ab12"), lambda n: n % 5 == 0),
        (Matching(("pending",), "number", "launch-ab12"), lambda n: n % 15 == 0),
        (Matching(priority="P1"), lambda n: n % 4 == 1),
        (Matching(("pending",), priority="P1"), lambda n: n % 12 == 9),
        (Matching(("pending",), left=(TaskId("task-01"),)), lambda n: n % 3 == 0 or n == 1),
        (Matching(("in_progress",), left=(TaskId("task-01"),)), lambda n: n % 3 == 1 and n != 1),
        (Matching(("pending",), left=(TaskId("task-02"),)), lambda n: n % 3 == 0),
    ],
)
def test_what_matches(journal: SqliteJournal, matching: Matching, which: object) -> None:
    """By status, part of title or id, run and priority; a task that nobody carries counts as pending."""
    assert callable(which)
    wanted = {one.id for number, one in enumerate(ROWS) if which(number)}
    assert set(journal.listing.page(matching, "updated", (), 100)) == wanted
    assert journal.listing.total(matching) == len(wanted)


def test_counts_and_those_that_run(journal: SqliteJournal) -> None:
    """How many of each status; the running ones, the oldest first; the runs of pipelines."""
    assert journal.listing.counts() == {"pending": 14, "in_progress": 13, "completed": 13}
    assert journal.listing.running() == [one.id for one in ROWS if one.status == "in_progress"]
    assert journal.listing.runs() == ["launch-ab12"]


def test_where_a_task_was_last_taken(journal: SqliteJournal) -> None:
    """The position of the feed, and not of what others say."""
    task = ROWS[0].id
    journal.append(make_record(2, task, TaskReleased()), replace(ROWS[0], seq=2))
    journal.append(make_record(3, task, TaskClaimed("run-9")), replace(ROWS[0], seq=3))
    journal.append(make_record(4, task, TaskReleased()), replace(ROWS[0], seq=4))
    assert journal.listing.claimed_at(task) == journal.position() - 1
    assert journal.listing.claimed_at(TaskId("nobody")) == 0


@pytest.mark.parametrize("sort", SORTS)
def test_only_keys_of_tasks_fit(sort: Sort) -> None:
    """What a client made up is told apart from what a page gave."""
    assert fits(key_of(ROWS[0], sort), sort)
    assert fits(key_of(ROWS[1], sort), sort)
    for wrong in ((), ("x",), (1.0,), (1.0, 2.0, 3.0), ("a", "b"), ("a", 1.0)):
        assert not fits(wrong, sort)


@pytest.mark.parametrize("sort", SORTS)
def test_a_page_reads_no_state(journal: SqliteJournal, sort: Sort, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it is found by is in one index."""
    asked: list[str] = []
    ask = journal._db.ask

    def explained(query: str, *values: Value) -> list[tuple[Any, ...]]:
        asked.extend(found[3] for found in ask(f"EXPLAIN QUERY PLAN {query}", *values))
        return ask(query, *values)

    monkeypatch.setattr(journal._db, "ask", explained)
    journal.listing.page(Matching(("pending",), "x"), sort, key_of(ROWS[0], sort), 10)
    journal.listing.total(Matching(("pending",), "x"))
    journal.listing.counts()
    scans = [step for step in asked if " task" in step]
    assert len(scans) == 3
    assert all("COVERING INDEX listed_tasks" in step for step in scans)


def test_tasks_of_an_older_store_are_listed_with_their_cost(tmp_path: Path) -> None:
    """The figure is read from the state that was kept; a state that is no JSON has none."""
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
        page = journal.named_rows(journal.listing.page(Matching(), "cost", (), 10))
    assert [(row.id, row.cost_usd) for row in page] == [("dear", 2.5), ("odd", None), ("free", None)]
