"""Lists of tasks do not read more because a project has more tasks: counted, not timed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from journal_values import make_record
from ostler.model.ids import TaskId
from ostler.model.policy.needs import URGENT
from ostler.model.rows import build_row
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.forecast import forecast_queue
from ostler.project.tasks.lists.change_sizes import ChangeSizes
from ostler.project.tasks.lists.inbox import InboxFilter, read_inbox
from ostler.project.tasks.lists.status_filter import StatusFilter, list_ready, read_status_page
from ostler.project.tasks.lists.task_list import TaskQuery, read_page
from ostler.store.database import Value
from ostler.store.listing import TaskFilter
from ostler.store.sql_journal import SqlJournal
from ostler.views.agent_work.live import Live
from postgres_world import empty_store

FEW, MANY, PAGE = 10, 10_000, 10
KINDS = (("pending", ""), ("needs_review", "review"), ("failed", "failed"), ("completed", ""))
SIZES, LIVE = ChangeSizes(), Live()
LISTS: dict[str, Callable[[Project], object]] = {
    "status": lambda project: read_status_page(project, StatusFilter(), 1, PAGE),
    "status --failed": lambda project: read_status_page(project, StatusFilter(flags=("failed",)), 1, PAGE),
    "what a run starts next": lambda project: list_ready(project, PAGE),
    "the board": lambda project: read_page(project, TaskQuery(limit=PAGE), LIVE, SIZES),
    "its waiting tasks": lambda project: read_page(
        project, TaskQuery(("pending", "deferred"), limit=PAGE), LIVE, SIZES
    ),
    "its ended tasks": lambda project: read_page(project, TaskQuery(("cancelled",), limit=PAGE), LIVE, SIZES),
    "the inbox": lambda project: read_inbox(project, InboxFilter(URGENT, {}, PAGE), SIZES),
}


def add_tasks(project: Project, number: int) -> None:
    """Fill the table with tasks of all kinds, as fast as the database can."""
    first = project.add(Task("Number zero"))
    row = build_row(project.state(first.id))
    made = [
        replace(
            row,
            id=TaskId(f"task-{n:05d}-abcd"),
            status=KINDS[n % len(KINDS)][0],
            need=KINDS[n % len(KINDS)][1],
            created_at=row.created_at + n,
            updated_at=row.updated_at + n,
            state=row.state.replace(first.id.encode(), b"task-%05d-abcd" % n),
        )
        for n in range(1, number)
    ]
    with project.journal.transaction():
        for one in made:
            project.journal._write_row(one)


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Project]]:
    """Two projects: one with ten tasks, and one with ten thousand."""
    opened: list[Project] = []
    for number in (FEW, MANY):
        root = tmp_path_factory.mktemp(f"tasks-{number}")
        opened.append(Project.open(root, {"HOME": str(root)}, create=True))
        add_tasks(opened[-1], number)
    few, many = opened
    yield few, many
    for one in opened:
        one.journal.close()


def count_steps(project: Project, read: Callable[[Project], object]) -> int:
    """Return how many instructions of SQLite's virtual machine a list takes."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection: apsw.Connection = project.journal._db.connection  # pyright: ignore
    read(project)  # what is read once per process
    connection.set_progress_handler(step, 1)
    try:
        read(project)
    finally:
        connection.set_progress_handler(None, 1)
    return steps


@pytest.mark.parametrize("name", LISTS)
def test_a_first_page_takes_the_same_steps(sizes: tuple[Project, Project], name: str) -> None:
    """At 10,000 tasks as at 10; the few that are allowed come from a fuller page."""
    few, many = (count_steps(project, LISTS[name]) for project in sizes)
    assert few > 0 and many <= 1.2 * few + 600, (few, many)


def test_the_forecast_reads_a_bounded_number_of_tasks(sizes: tuple[Project, Project]) -> None:
    """It counts all of them; the first hundred are read, and some of each further priority."""

    def read(project: Project) -> object:
        return forecast_queue(project, {}, time.time(), is_active=False)

    _, many = sizes
    assert count_steps(many, read) < 20_000
    found = forecast_queue(many, {}, time.time(), is_active=False)
    assert found and found.tasks_waiting == MANY // len(KINDS)


def test_reading_every_task_is_counted(sizes: tuple[Project, Project]) -> None:
    """The measure of this file detects a list that reads them all."""
    few, many = (count_steps(project, lambda project: project.journal.rows()) for project in sizes)
    assert many > 100 * few


def test_postgres_reads_the_same_rows(
    postgres_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query of a first page, as the server runs it, reads a few rows of 5,000; a full list reads all."""
    store = empty_store(postgres_server)
    with store.open_journal() as journal:
        fill_postgres(journal, tmp_path)
        read: list[int] = []
        query = journal._db.query

        def explain(sql: str, *values: Value) -> list[tuple[Any, ...]]:
            found = query(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", *values)[0][0]
            plan = json.loads(found) if isinstance(found, str | bytes) else found
            read.append(count_rows(plan[0]["Plan"]))
            return query(sql, *values)

        monkeypatch.setattr(journal._db, "query", explain)
        listing = journal.listing
        listing.in_reading_order(TaskFilter(), PAGE)
        listing.page(TaskFilter(), "updated", (), PAGE)
        listing.page(TaskFilter(("pending", "cancelled")), "updated", (), PAGE)
        listing.inbox("review", None, PAGE)
        listing.queue("P2", PAGE)
        for counted in (listing.counts, listing.needs, listing.waiting, listing.running, listing.dependent):
            counted()
        assert len(read) >= 10 and max(read) <= 8 * PAGE, read
        journal.rows()
        assert read[-1] >= 5000


def fill_postgres(journal: SqlJournal, place: Path) -> None:
    """Copy one task 5,000 times."""
    with Project.open(place, {"HOME": str(place)}, create=True) as project:
        row = build_row(project.state(project.add(Task("Number zero")).id))
    assert journal.append(make_record(1, row.id), row)
    columns = ("seq", "title", "priority", "state", "open")
    with journal.transaction():
        journal._db.run(
            f"INSERT INTO task (id, {', '.join(columns)}, status, need, created_at, updated_at)"
            f" SELECT 'task-' || n, {', '.join(columns)}, (ARRAY['pending', 'needs_review', 'failed',"
            " 'completed'])[n % 4 + 1], (ARRAY['', 'review', 'failed', ''])[n % 4 + 1], n, n"
            " FROM task, generate_series(1, 5000) AS n"
        )
    journal._db.query("ANALYZE task")


def count_rows(plan: dict[str, Any]) -> int:
    """Return how many rows the parts of a plan read from tables and indexes."""
    rows = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    own = rows * plan["Actual Loops"] if "Scan" in plan["Node Type"] else 0
    return int(own) + sum(count_rows(part) for part in plan.get("Plans", ()))
