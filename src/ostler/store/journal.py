"""What the layers above know of the store: histories that only grow, and the rows read from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import FeedLine, Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice

FEED_LIMIT = 1000


class EventPublisher(Protocol):
    """Takes in what happens, for all who look on; a write that returned is durable."""

    def append(self, record: Record, row: TaskRow, notices: Sequence[Notice] = ()) -> bool:
        """Write the record, its task's row and the notices together.

        False, and nothing is written, when the task has a record of this seq: someone else was first.
        """
        ...

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        """Add notices to the feed."""
        ...


class Journal(EventPublisher, Protocol):
    """One project's truth. A write that raised may not be relied on."""

    @property
    def store_id(self) -> str:
        """A random name, made with the store."""
        ...

    def begin(self, attempt: Attempt) -> int:
        """Give the attempt the task's next number; what still ran of that task is closed as interrupted."""
        ...

    def learn(self, task: TaskId, number: int, session_id: str) -> bool:
        """Note the session that a running attempt's agent has named; False when it no longer runs."""
        ...

    def end(self, attempt: Attempt) -> bool:
        """Complete the attempt; False, and nothing is written, when it is no longer the one that runs."""
        ...

    def read(self, task: TaskId, after: int = 0) -> list[Record]:
        """The task's records with a seq above `after`, in order."""
        ...

    def row(self, task: TaskId) -> TaskRow | None:
        """The task as lists show it."""
        ...

    def rows(self) -> list[TaskRow]:
        """All tasks, the oldest first."""
        ...

    def open_rows(self) -> list[TaskRow]:
        """Those with something left to do, the oldest first."""
        ...

    def pipeline_rows(self, runs: Iterable[str]) -> list[TaskRow]:
        """The tasks of these runs of pipelines, ended ones too, the oldest first."""
        ...

    def statuses(self, tasks: Iterable[TaskId]) -> dict[TaskId, str]:
        """The status of each of these tasks; one that is not there is left out."""
        ...

    def find(self, prefix: str) -> list[TaskId]:
        """The tasks whose id starts so; the one alone whose id it is."""
        ...

    def attempts(self, task: TaskId) -> list[Attempt]:
        """The task's attempts, by number."""
        ...

    def feed(self, after: int = 0, task: TaskId | None = None, limit: int = FEED_LIMIT) -> list[FeedLine]:
        """Events and notices in the order in which they were written, of one task or of all."""
        ...

    def position(self) -> int:
        """The number of the last line of the feed."""
        ...

    def version(self) -> int:
        """A number that changes when someone else wrote."""
        ...

    def close(self) -> None:
        """Let go of the store; closing twice is fine."""
        ...
