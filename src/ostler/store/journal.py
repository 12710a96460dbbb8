"""The interface of the store: append-only histories of tasks, and the rows that are read from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import FeedLine, Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice

if TYPE_CHECKING:
    from ostler.store.fence import Claim
    from ostler.store.listing import Listing

FEED_LIMIT = 1000


class Append(NamedTuple):
    """One further record of a task, with its row and notices."""

    record: Record
    row: TaskRow
    notices: Sequence[Notice] = ()


class RecordedTasks(NamedTuple):
    """The tasks with a record in a part of the feed."""

    tasks: set[TaskId]
    position: int  # of the end of that part


class EventPublisher(Protocol):
    """Records events and notices; a write that returned is durable.

    A write with a claim raises ClaimLost, and writes nothing, when the claim is lost.
    """

    def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        """Write the record, the row of its task and the notices in one transaction; delete a removed row.

        The records of `then` follow in the same transaction. Returns False, and writes nothing, when the task
        has a record of this seq: another writer was first.
        """
        ...

    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> None:
        """Add notices to the feed."""
        ...


class Journal(EventPublisher, Protocol):
    """The journal of one project. A write that raised may or may not have been made."""

    @property
    def store_id(self) -> str:
        """A random id, created with the store."""
        ...

    @property
    def listing(self) -> Listing:
        """The list of tasks, in pages."""
        ...

    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> int:
        """Record an attempt and return its number; running attempts of the task become interrupted."""
        ...

    def set_session(self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None) -> bool:
        """Record the session id of a running attempt; return False when it has ended."""
        ...

    def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        """Record the end of an attempt; return False, and write nothing, when it is not the running one."""
        ...

    def read(self, task: TaskId, after: int = 0) -> list[Record]:
        """Return the records of the task with a seq above `after`, in order."""
        ...

    def recorded_tasks(self, after: int) -> RecordedTasks:
        """Return the tasks with a record after a position, and the last position."""
        ...

    def row(self, task: TaskId) -> TaskRow | None:
        """Return the row of the task; None if there is no such task."""
        ...

    def rows(self) -> list[TaskRow]:
        """Return all tasks, the oldest first."""
        ...

    def open_rows(self) -> list[TaskRow]:
        """Return the tasks with something left to do, the oldest first."""
        ...

    def active_rows(self) -> list[TaskRow]:
        """Return the open tasks, without those that only a person can continue, the oldest first."""
        ...

    def late_reviews(self, before: float) -> list[TaskRow]:
        """Return the open tasks that wait for a review and did not change after a time, the oldest first."""
        ...

    def named_rows(self, tasks: Sequence[TaskId]) -> list[TaskRow]:
        """Return these tasks in this order; missing tasks are left out."""
        ...

    def pipeline_rows(self, runs: Iterable[str]) -> list[TaskRow]:
        """Return the tasks of these pipeline runs, including ended ones, the oldest first."""
        ...

    def statuses(self, tasks: Iterable[TaskId]) -> dict[TaskId, str]:
        """Return the status of each of these tasks; missing tasks are left out."""
        ...

    def find(self, prefix: str) -> list[TaskId]:
        """Return the tasks whose id starts with the prefix; just one if its id is equal to it."""
        ...

    def attempts(self, task: TaskId) -> list[Attempt]:
        """Return the attempts of the task, by number."""
        ...

    def feed(self, after: int = 0, task: TaskId | None = None, limit: int = FEED_LIMIT) -> list[FeedLine]:
        """Return events and notices after a position, of one task or of all, in the order of writing."""
        ...

    def position(self) -> int:
        """Return the position of the last line of the feed."""
        ...

    def version(self) -> int:
        """Return a number that changes when another connection writes; raises if the journal is lost."""
        ...

    def close(self) -> None:
        """Close the store; closing twice is allowed."""
        ...
