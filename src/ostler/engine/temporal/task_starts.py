"""Which workflows of tasks a board has started, and when to try again.

The server refuses a second start while a workflow is open, so this memory only saves calls: a new board
starts every runnable task again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from ostler.engine.board import has_pipeline_slot
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus

MAX_WAITING = 100
"""Started tasks of one label that no worker has claimed; more urgent ones are started nevertheless."""

_RUNNING_SECONDS = 30.0  # between two starts of a task that is in progress, whose workflow may be lost
_WAITING_SECONDS = 5.0  # of one that waits for a worker
_CLOSING_SECONDS = 0.05  # of one whose last workflow is just ending; doubled up to _WAITING_SECONDS
_MAX_READ_LABELS = 100  # by one look at the board: each is a read of the journal


class _Start(Struct):
    seq: int
    at: float  # when it is tried again
    delay: float
    label: str


class _Labels:
    """The labels of tasks, which the list does not have."""

    def __init__(self) -> None:
        self._known: dict[TaskId, tuple[int, str]] = {}  # with the record at which it was read

    def keep(self, tasks: Collection[TaskId]) -> None:
        """Forget all other tasks."""
        self._known = {task: found for task, found in self._known.items() if task in tasks}

    def note(self, row: TaskRow, label: str) -> None:
        self._known[row.id] = row.seq, label

    def get(self, row: TaskRow) -> str | None:
        """Return the label; None if it is not known."""
        seq, label = self._known.get(row.id, (-1, ""))
        return label if seq == row.seq else None


class _Room:
    """Which tasks may be started beside those that wait, during one look at the board.

    The limit is one of each label: tasks whose label no worker has must not stop the others.
    """

    def __init__(self, waiting: list[TaskRow], labels: _Labels, read_label: Callable[[TaskId], str]) -> None:
        self._waiting = waiting
        self._labels = labels
        self._read_label = read_label
        self._reads = 0
        self._full: set[tuple[str, str | None]] = set()  # priority and label; None: any label

    def has(self, row: TaskRow) -> bool:
        if self._has(row, None):
            return True
        label = self._find_label(row)
        return label is not None and self._has(row, label)

    def _has(self, row: TaskRow, label: str | None) -> bool:
        key = (row.priority, label)
        if key not in self._full:
            urgent = [one for one in self._waiting if one.priority <= row.priority]
            if label is not None:
                urgent = [one for one in urgent if self._labels.get(one) in (None, label)]
            if len(urgent) < MAX_WAITING:
                return True
            self._full.add(key)
        return False

    def _find_label(self, row: TaskRow) -> str | None:
        if self._labels.get(row) is None and self._reads < _MAX_READ_LABELS:
            self._reads += 1
            self._labels.note(row, self._read_label(row.id))
        return self._labels.get(row)


class TaskStarts:
    """The workflows of its tasks that one board has started or found open."""

    def __init__(self) -> None:
        self._known: dict[TaskId, _Start] = {}
        self._labels = _Labels()

    def choose(
        self,
        rows: Sequence[TaskRow],
        members: Mapping[TaskId, TaskRow],
        now: float,
        read_label: Callable[[TaskId], str],
    ) -> list[TaskRow]:
        """Return the tasks to start now, of those that may run, which are in the order of their start."""
        self._known = {row.id: self._known[row.id] for row in rows if row.id in self._known}
        self._labels.keep({row.id for row in rows})
        waiting = [row for row in rows if self._is_waiting(row)]
        running = {row.id for row in rows if row.status == TaskStatus.IN_PROGRESS}
        running |= {row.id for row in waiting}
        room = _Room(waiting, self._labels, read_label)
        chosen: list[TaskRow] = []
        for row in rows:
            known = self._known.get(row.id)
            if known is not None and known.at > now and (known.seq == row.seq or row.id in running):
                continue
            if row.id not in running:
                if not room.has(row) or not has_pipeline_slot(row.id, members, running):
                    continue
                running.add(row.id)
                waiting.append(row)
            chosen.append(row)
        return chosen

    def waits_with(self, row: TaskRow, label: str) -> bool:
        """Return whether this board has started the task, or found it open, with this label."""
        known = self._known.get(row.id)
        return known is not None and known.label == label

    def note(self, row: TaskRow, label: str, now: float, *, started: bool) -> None:
        """Record the answer of the server: it started a workflow, or one was open."""
        self._labels.note(row, label)
        known = self._known.get(row.id)
        if row.status == TaskStatus.IN_PROGRESS:
            delay = _RUNNING_SECONDS
        elif started:
            delay = _WAITING_SECONDS
        else:
            delay = (
                min(known.delay * 2, _WAITING_SECONDS) if known and known.seq == row.seq else _CLOSING_SECONDS
            )
        self._known[row.id] = _Start(row.seq, now + delay, delay, label)

    def next_at(self) -> float:
        """Return when a task is tried again."""
        return min((known.at for known in self._known.values()), default=float("inf"))

    def _is_waiting(self, row: TaskRow) -> bool:
        known = self._known.get(row.id)
        return known is not None and known.seq == row.seq and row.status != TaskStatus.IN_PROGRESS
