"""Pages of the list of tasks, by status, text and order."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.policy.needs import Need

Sort = Literal["updated", "created", "priority", "cost"]
Cursor = tuple[str | float, ...]

# The columns of each order; the id makes each key unique.
KEYS: dict[Sort, tuple[str, ...]] = {
    "updated": ("updated_at", "id"),
    "created": ("created_at", "id"),
    "priority": ("priority", "coalesce(queued_at, created_at)", "id"),
    "cost": ("coalesce(cost_usd, -1)", "id"),
}
_TEXT_COLUMNS = ("id", "priority")  # the others are numbers


class TaskFilter(Struct, frozen=True):
    """Which tasks to list."""

    statuses: tuple[str, ...] = ()  # empty: all
    text: str = ""  # somewhere in the title or the id
    pipeline: str = ""  # the pipeline run that they belong to
    without_owner: tuple[TaskId, ...] = ()  # in progress, but no process runs them: listed as pending
    priority: str = ""
    archived: bool = False  # only archived tasks; false: only the others
    since: float = 0.0  # changed since then
    needs: tuple[Need, ...] = ()  # tasks with one of these needs match whatever their status is


ALL = TaskFilter()


class InboxKey(Struct, frozen=True):
    """The place of a task in the inbox: by priority, then the one that waits longest."""

    priority: str
    since: float  # when its status was entered
    id: TaskId


class Listing(Protocol):
    """Reads the list of tasks without their state."""

    def page(self, task_filter: TaskFilter, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
        """Return the tasks after the cursor (the `sort_key` of the task before; () is the first page)."""
        ...

    def total(self, task_filter: TaskFilter) -> int:
        """Return the number of matching tasks."""
        ...

    def counts(self, matching: TaskFilter = ALL) -> dict[str, int]:
        """Return the number of matching tasks of each status that has some."""
        ...

    def in_reading_order(self, matching: TaskFilter, limit: int | None = None) -> list[TaskId]:
        """Return what needs a person first, then running, waiting and paused tasks, then the ended ones.

        Questions come before reviews and failures; each group is by priority and then by waiting time, and
        the ended tasks are from the newest on.
        """
        ...

    def queue(self, priority: str, limit: int) -> list[TaskId]:
        """Return the first waiting tasks of a priority, in the order in which a run starts them."""
        ...

    def waiting(self) -> dict[str, int]:
        """Return the number of waiting tasks of each priority that has some."""
        ...

    def dependent(self) -> list[TaskId]:
        """Return the open tasks that depend on others."""
        ...

    def inbox(
        self, need: Need, after: InboxKey | None, limit: int, matching: TaskFilter = ALL
    ) -> list[InboxKey]:
        """Return the tasks that need this from a person, after a place (None: from the first one)."""
        ...

    def status_since(self, task: TaskId) -> float:
        """Return when the task got its status; 0 if there is no such task."""
        ...

    def needs(self, matching: TaskFilter = ALL) -> dict[str, int]:
        """Return the number of matching tasks with each need."""
        ...

    def running(self) -> list[TaskId]:
        """Return the tasks that are in progress, the oldest first."""
        ...

    def pipeline_runs(self) -> list[str]:
        """Return every pipeline run, the newest first."""
        ...

    def ends(self) -> dict[TaskId, float]:
        """Return when each task that ended did so last."""
        ...

    def claim_position(self, task: TaskId) -> int:
        """Return the position of the feed at which a run last claimed the task; 0: never."""
        ...


def sort_key(row: TaskRow, sort: Sort) -> Cursor:
    """Return the cursor of the page that follows this row."""
    match sort:
        case "updated":
            return row.updated_at, row.id
        case "created":
            return row.created_at, row.id
        case "priority":
            return row.place
        case "cost":
            return -1.0 if row.cost_usd is None else row.cost_usd, row.id


def is_valid_cursor(after: Cursor, sort: Sort) -> bool:
    """Return whether these values can be the key of a task."""
    kinds = [str if column in _TEXT_COLUMNS else (int, float) for column in KEYS[sort]]
    return len(after) == len(kinds) and all(map(isinstance, after, kinds))
