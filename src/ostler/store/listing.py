"""Pages of the list of tasks, by status, text and order; answered from one index."""

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

# What a task is ordered by; the id makes each key one of a kind.
_KEYS: dict[Sort, tuple[str, ...]] = {
    "updated": ("updated_at", "id"),
    "created": ("created_at", "id"),
    "priority": ("priority", "created_at", "id"),
    "cost": ("coalesce(cost_usd, -1)", "id"),
}
_WORDS = ("id", "priority")  # all else is a number
_STATUS = "iif(status = 'in_progress' AND id IN (SELECT value FROM json_each(?1)), 'pending', status)"
_GIVEN = "(SELECT value FROM json_each(?2))"
_MATCHES = f"""
    FROM task INDEXED BY listed_tasks WHERE (?2 = '[]' OR {_STATUS} IN {_GIVEN})
    AND (?3 = '' OR title LIKE ?3 ESCAPE '!' OR id LIKE ?3 ESCAPE '!')
    AND (?4 = '' OR pipeline = ?4)
    AND (?5 = '' OR priority = ?5)"""
_COUNT_MATCHES = f"SELECT count(*) {_MATCHES}"
_COUNT_STATUSES = "SELECT status, count(*) FROM task INDEXED BY listed_tasks GROUP BY status"
_SELECT_RUNNING = (
    "SELECT id FROM task INDEXED BY listed_tasks WHERE status = 'in_progress' ORDER BY created_at"
)
_SELECT_RUNS = (
    "SELECT pipeline FROM task WHERE pipeline <> '' GROUP BY pipeline ORDER BY min(created_at) DESC"
)
_SELECT_CLAIM = """
    SELECT coalesce(max(position), 0) FROM feed
    WHERE task = ? AND seq IS NOT NULL AND type = 'task_claimed'"""


class Matching(Struct, frozen=True):
    """Which tasks are asked for."""

    statuses: tuple[str, ...] = ()  # empty: all
    text: str = ""  # somewhere in the title or the id
    pipeline: str = ""  # the run that they are parts of
    left: tuple[TaskId, ...] = ()  # in progress by their row, but carried by nobody: they count as pending
    priority: str = ""


class Listing:
    """Reads the list of tasks without their states."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def page(self, matching: Matching, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
        """The tasks behind `after`, which is the `key_of` the one before them; () begins."""
        columns = _KEYS[sort]
        direction, sign = ("ASC", ">") if sort == "priority" else ("DESC", "<")
        marks = ", ".join("?" * len(after))
        behind = f"AND ({', '.join(columns)}) {sign} ({marks})" if after else ""
        order = ", ".join(f"{column} {direction}" for column in columns)
        query = f"SELECT id {_MATCHES} {behind} ORDER BY {order} LIMIT ?"
        return [TaskId(found) for (found,) in self._db.ask(query, *_values(matching), *after, limit)]

    def total(self, matching: Matching) -> int:
        """How many there are in all."""
        return self._db.ask(_COUNT_MATCHES, *_values(matching))[0][0]

    def counts(self) -> dict[str, int]:
        """How many tasks have each status."""
        return dict(self._db.ask(_COUNT_STATUSES))

    def running(self) -> list[TaskId]:
        """The tasks that are in progress, the oldest first."""
        return [TaskId(found) for (found,) in self._db.ask(_SELECT_RUNNING)]

    def runs(self) -> list[str]:
        """Every run of a pipeline, the newest first."""
        return [run for (run,) in self._db.ask(_SELECT_RUNS)]

    def claimed_at(self, task: TaskId) -> int:
        """The position of the feed at which a run last took the task; 0: never."""
        return self._db.ask(_SELECT_CLAIM, task)[0][0]


def key_of(row: TaskRow, sort: Sort) -> Cursor:
    """What the next page goes on behind."""
    match sort:
        case "updated":
            return row.updated_at, row.id
        case "created":
            return row.created_at, row.id
        case "priority":
            return row.priority, row.created_at, row.id
        case "cost":
            return -1.0 if row.cost_usd is None else row.cost_usd, row.id


def fits(after: Cursor, sort: Sort) -> bool:
    """Whether these values could be the key of a task."""
    kinds = [str if column in _WORDS else (int, float) for column in _KEYS[sort]]
    return len(after) == len(kinds) and all(map(isinstance, after, kinds))


def _values(matching: Matching) -> tuple[Value, ...]:
    text = matching.text
    for letter in "!%_":
        text = text.replace(letter, f"!{letter}")
    like = f"%{text}%" if text else ""
    left, statuses = codec.encode_ids(matching.left), codec.encode_ids(matching.statuses)
    return left, statuses, like, matching.pipeline, matching.priority
