"""The list of tasks in a table; a page is read from an index, and its counts from a table of counts."""

from __future__ import annotations

from msgspec.structs import astuple

from ostler.model.ids import TaskId
from ostler.model.policy.needs import Need
from ostler.model.status import TERMINAL, TaskStatus
from ostler.store.database import Database
from ostler.store.listing import ALL, Cursor, InboxKey, Sort, TaskFilter
from ostler.store.queries.conditions import Conditions
from ostler.store.queries.pages import read_in_order, read_page, read_queue
from ostler.store.queries.task_counts import add_up, count_kinds, is_counted, list_statuses

_SELECT_RUNNING = "SELECT id FROM task WHERE status = 'in_progress' ORDER BY created_at"
_SELECT_RUNS = (
    "SELECT pipeline FROM task WHERE pipeline <> '' GROUP BY pipeline ORDER BY min(created_at) DESC"
)
_SELECT_DEPENDENT = "SELECT id FROM task WHERE open AND waits_for <> '' ORDER BY priority, id"
_SELECT_CLAIM = """
    SELECT coalesce(max(position), 0) FROM feed
    WHERE task = $1 AND seq IS NOT NULL AND type = 'task_claimed'"""

# Later records, such as those of a cleanup, do not change when a task ended.
_SELECT_ENDS = """
    SELECT task, max(at) FROM feed
    WHERE seq IS NOT NULL AND type IN ('task_completed', 'task_failed', 'task_cancelled') GROUP BY task"""
_UNLIMITED = 2**53


class SqlListing:
    """A Listing over a connection of the journal."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def page(self, task_filter: TaskFilter, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
        return read_page(self._db, task_filter, sort, after, limit)

    def total(self, task_filter: TaskFilter) -> int:
        return sum(self.counts(task_filter).values())

    def counts(self, matching: TaskFilter = ALL) -> dict[str, int]:
        if is_counted(matching):
            kinds = count_kinds(self._db, matching)
            return add_up((kind.status, tasks) for kind, tasks in kinds.items())
        where = Conditions()
        status, statuses = where.name_status(matching), list_statuses(self._db, matching)
        if not statuses:
            return {}
        where.add("status IN ({})", statuses)
        where.add_filter(matching)
        query = f"SELECT {status}, count(*) FROM task {where.sql} GROUP BY 1"  # noqa: S608  (no part comes from a user)
        return dict(self._db.query(query, *where.values))

    def in_reading_order(self, matching: TaskFilter, limit: int | None = None) -> list[TaskId]:
        return read_in_order(self._db, matching, _UNLIMITED if limit is None else limit)

    def queue(self, priority: str, limit: int) -> list[TaskId]:
        return read_queue(self._db, priority, limit)

    def waiting(self) -> dict[str, int]:
        kinds = count_kinds(self._db, ALL).items()
        ended = TERMINAL | {TaskStatus.IN_PROGRESS}
        return add_up((kind.priority, n) for kind, n in kinds if not kind.need and kind.status not in ended)

    def dependent(self) -> list[TaskId]:
        return [TaskId(found) for (found,) in self._db.query(_SELECT_DEPENDENT)]

    def inbox(
        self, need: Need, after: InboxKey | None, limit: int, matching: TaskFilter = ALL
    ) -> list[InboxKey]:
        where = _match_needs(matching)
        where.add("need = {}", [need])
        if after:
            where.add("(priority, status_since, id) > ({})", astuple(after))
        query = (
            f"SELECT priority, status_since, id FROM task {where.sql} "  # noqa: S608
            f"ORDER BY priority, status_since, id LIMIT ${len(where.values) + 1}"
        )
        found = self._db.query(query, *where.values, limit)
        return [InboxKey(priority, since, TaskId(task)) for priority, since, task in found]

    def status_since(self, task: TaskId) -> float:
        found = self._db.query("SELECT status_since FROM task WHERE id = $1", task)
        return found[0][0] if found else 0.0

    def needs(self, matching: TaskFilter = ALL) -> dict[str, int]:
        if is_counted(matching):
            kinds = count_kinds(self._db, matching)
            return add_up((kind.need, tasks) for kind, tasks in kinds.items() if kind.need)
        where = _match_needs(matching)
        query = f"SELECT need, count(*) FROM task {where.sql} GROUP BY need"  # noqa: S608
        return dict(self._db.query(query, *where.values))

    def running(self) -> list[TaskId]:
        return [TaskId(found) for (found,) in self._db.query(_SELECT_RUNNING)]

    def pipeline_runs(self) -> list[str]:
        return [run for (run,) in self._db.query(_SELECT_RUNS)]

    def ends(self) -> dict[TaskId, float]:
        return {TaskId(task): at for task, at in self._db.query(_SELECT_ENDS)}

    def claim_position(self, task: TaskId) -> int:
        return self._db.query(_SELECT_CLAIM, task)[0][0]


def _match_needs(matching: TaskFilter) -> Conditions:
    where = Conditions()
    # Without a filter only the index of the tasks that need a person is read; they are not archived.
    if matching != ALL:
        where.add_filter(matching)
    where.add("need <> ''")
    return where
