"""Pages of the list of tasks: every task once, in order, with every filter."""

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
from ostler.store.listing import Sort, TaskFilter, is_valid_cursor, sort_key
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
def test_what_matches(journal: SqliteJournal, matching: TaskFilter, which: object) -> None:
    """By status, part of title or id, run and priority; a task without a process counts as pending."""
    assert callable(which)
    wanted = {one.id for number, one in enumerate(ROWS) if which(number)}
    assert set(journal.listing.page(matching, "updated", (), 100)) == wanted
    assert journal.listing.total(matching) == len(wanted)


def test_counts_and_those_that_run(journal: SqliteJournal) -> None:
    """The number of each status; the running tasks, the oldest first; the pipeline runs."""
    assert journal.listing.counts() == {"pending": 14, "in_progress": 13, "completed": 13}
    assert journal.listing.running() == [one.id for one in ROWS if one.status == "in_progress"]
    assert journal.listing.pipeline_runs() == ["launch-ab12"]


def test_where_a_task_was_last_taken(journal: SqliteJournal) -> None:
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
def test_a_page_reads_no_state(journal: SqliteJournal, sort: Sort, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that a page needs is in one index."""
    plan: list[str] = []
    query = journal._db.query

    def explain(sql: str, *values: Value) -> list[tuple[Any, ...]]:
        plan.extend(found[3] for found in query(f"EXPLAIN QUERY PLAN {sql}", *values))
        return query(sql, *values)

    monkeypatch.setattr(journal._db, "query", explain)
    journal.listing.page(TaskFilter(("pending",), "x"), sort, sort_key(ROWS[0], sort), 10)
    journal.listing.total(TaskFilter(("pending",), "x"))
    journal.listing.counts()
    scans = [step for step in plan if " task" in step]
    assert len(scans) == 3
    assert all("COVERING INDEX listed_tasks" in step for step in scans)


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
