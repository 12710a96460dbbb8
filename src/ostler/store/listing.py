"""Pages of the list of tasks, by status, text and order; read from one index."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.store import codec
from ostler.store.database import Database
from ostler.store.statement import Value

Sort = Literal["updated", "created", "priority", "cost"]
Cursor = tuple[str | float, ...]

# The columns of each order; the id makes each key unique.
_KEYS: dict[Sort, tuple[str, ...]] = {
    "updated": ("updated_at", "id"),
    "created": ("created_at", "id"),
    "priority": ("priority", "created_at", "id"),
    "cost": ("coalesce(cost_usd, -1)", "id"),
}
_TEXT_COLUMNS = ("id", "priority")  # the others are numbers
_STATUS = "iif(status = 'in_progress' AND id IN (SELECT value FROM json_each(?1)), 'pending', status)"
_STATUSES = "(SELECT value FROM json_each(?2))"
_MATCHES = f"""
    FROM task INDEXED BY listed_tasks WHERE (?2 = '[]' OR {_STATUS} IN {_STATUSES})
    AND (?3 = '' OR title LIKE ?3 ESCAPE '!' OR id LIKE ?3 ESCAPE '!')
    AND (?4 = '' OR pipeline = ?4)
    AND (?5 = '' OR priority = ?5)
    AND (archived_at IS NOT NULL) = ?6
    AND updated_at >= ?7"""
_COUNT_MATCHES = f"SELECT count(*) {_MATCHES}"
_COUNT_STATUSES = """
    SELECT status, count(*) FROM task INDEXED BY listed_tasks WHERE archived_at IS NULL GROUP BY status"""
_SELECT_RUNNING = (
    "SELECT id FROM task INDEXED BY listed_tasks WHERE status = 'in_progress' ORDER BY created_at"
)
_SELECT_RUNS = (
    "SELECT pipeline FROM task WHERE pipeline <> '' GROUP BY pipeline ORDER BY min(created_at) DESC"
)
_SELECT_CLAIM = """
    SELECT coalesce(max(position), 0) FROM feed
    WHERE task = ? AND seq IS NOT NULL AND type = 'task_claimed'"""

# Later records, such as those of a cleanup, do not change when a task ended.
_SELECT_ENDS = """
    SELECT task, max(at) FROM feed
    WHERE seq IS NOT NULL AND type IN ('task_completed', 'task_failed', 'task_cancelled') GROUP BY task"""


class TaskFilter(Struct, frozen=True):
    """Which tasks to list."""

    statuses: tuple[str, ...] = ()  # empty: all
    text: str = ""  # somewhere in the title or the id
    pipeline: str = ""  # the pipeline run that they belong to
    without_owner: tuple[TaskId, ...] = ()  # in progress, but no process runs them: listed as pending
    priority: str = ""
    archived: bool = False  # only archived tasks; false: only the others
    since: float = 0.0  # changed since then


class Listing:
    """Reads the list of tasks without their state."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def page(self, task_filter: TaskFilter, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
        """Return the tasks after the cursor (the `sort_key` of the task before; () is the first page)."""
        columns = _KEYS[sort]
        direction, sign = ("ASC", ">") if sort == "priority" else ("DESC", "<")
        marks = ", ".join("?" * len(after))
        behind = f"AND ({', '.join(columns)}) {sign} ({marks})" if after else ""
        order = ", ".join(f"{column} {direction}" for column in columns)
        query = f"SELECT id {_MATCHES} {behind} ORDER BY {order} LIMIT ?"
        return [TaskId(found) for (found,) in self._db.query(query, *_values(task_filter), *after, limit)]

    def total(self, task_filter: TaskFilter) -> int:
        """Return the number of matching tasks."""
        return self._db.query(_COUNT_MATCHES, *_values(task_filter))[0][0]

    def counts(self) -> dict[str, int]:
        """Return the number of tasks of each status, without archived ones."""
        return dict(self._db.query(_COUNT_STATUSES))

    def running(self) -> list[TaskId]:
        """Return the tasks that are in progress, the oldest first."""
        return [TaskId(found) for (found,) in self._db.query(_SELECT_RUNNING)]

    def pipeline_runs(self) -> list[str]:
        """Return every pipeline run, the newest first."""
        return [run for (run,) in self._db.query(_SELECT_RUNS)]

    def ends(self) -> dict[TaskId, float]:
        """Return when each task that ended did so last."""
        return {TaskId(task): at for task, at in self._db.query(_SELECT_ENDS)}

    def claim_position(self, task: TaskId) -> int:
        """Return the position of the feed at which a run last claimed the task; 0: never."""
        return self._db.query(_SELECT_CLAIM, task)[0][0]


def sort_key(row: TaskRow, sort: Sort) -> Cursor:
    """Return the cursor of the page that follows this row."""
    match sort:
        case "updated":
            return row.updated_at, row.id
        case "created":
            return row.created_at, row.id
        case "priority":
            return row.priority, row.created_at, row.id
        case "cost":
            return -1.0 if row.cost_usd is None else row.cost_usd, row.id


def is_valid_cursor(after: Cursor, sort: Sort) -> bool:
    """Return whether these values can be the key of a task."""
    kinds = [str if column in _TEXT_COLUMNS else (int, float) for column in _KEYS[sort]]
    return len(after) == len(kinds) and all(map(isinstance, after, kinds))


def _values(task_filter: TaskFilter) -> tuple[Value, ...]:
    text = task_filter.text
    for letter in "!%_":
        text = text.replace(letter, f"!{letter}")
    like = f"%{text}%" if text else ""
    without_owner = codec.encode_ids(task_filter.without_owner)
    statuses = codec.encode_ids(task_filter.statuses)
    more = (task_filter.archived, task_filter.since)
    return without_owner, statuses, like, task_filter.pipeline, task_filter.priority, *more
