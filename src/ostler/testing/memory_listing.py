"""The list of tasks of a journal in memory."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from msgspec.structs import astuple

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.policy.needs import Need
from ostler.model.status import TERMINAL, TaskStatus
from ostler.store.listing import ALL, Cursor, InboxKey, Sort, TaskFilter, sort_key

_ENDS = frozenset(("task_completed", "task_failed", "task_cancelled"))
_SECTIONS = ("question", "review", "failed", "running", "queued", "paused")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # as databases compare text


class _Record(Protocol):
    @property
    def task(self) -> TaskId: ...
    @property
    def at(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def seq(self) -> int | None: ...


class _Lines(Protocol):
    def rows(self) -> list[TaskRow]: ...
    def status_since(self, task: TaskId) -> float: ...
    @property
    def lines(self) -> Iterable[_Record]: ...


class MemoryListing:
    """A Listing of a MemoryJournal."""

    def __init__(self, journal: _Lines) -> None:
        self._journal = journal

    def page(self, task_filter: TaskFilter, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
        rising = sort == "priority"
        keys = {sort_key(row, sort): row.id for row in self._matching(task_filter)}
        if after:
            keys = {key: task for key, task in keys.items() if (key > after if rising else key < after)}
        return [keys[key] for key in sorted(keys, reverse=not rising)][:limit]

    def total(self, task_filter: TaskFilter) -> int:
        return len(self._matching(task_filter))

    def counts(self, matching: TaskFilter = ALL) -> dict[str, int]:
        return dict(Counter(_listed_status(row, matching) for row in self._matching(matching)))

    def in_reading_order(self, matching: TaskFilter, limit: int | None = None) -> list[TaskId]:
        found = [(_reading_key(row, self.status_since(row.id)), row.id) for row in self._matching(matching)]
        return [task for _, task in sorted(found)][:limit]

    def queue(self, priority: str, limit: int) -> list[TaskId]:
        queued = [row for row in self._matching(ALL) if _is_queued(row) and row.priority == priority]
        return [row.id for row in sorted(queued, key=lambda row: row.place)][:limit]

    def waiting(self) -> dict[str, int]:
        return dict(Counter(row.priority for row in self._matching(ALL) if _is_queued(row)))

    def dependent(self) -> list[TaskId]:
        found = [row for row in self._journal.rows() if row.open and row.after]
        return [row.id for row in sorted(found, key=lambda row: (row.priority, row.id))]

    def inbox(
        self, need: Need, after: InboxKey | None, limit: int, matching: TaskFilter = ALL
    ) -> list[InboxKey]:
        found = [
            InboxKey(row.priority, self._journal.status_since(row.id), row.id)
            for row in self._matching(matching)
            if row.need == need
        ]
        ordered = sorted(found, key=astuple)
        return [one for one in ordered if after is None or astuple(one) > astuple(after)][:limit]

    def status_since(self, task: TaskId) -> float:
        return self._journal.status_since(task)

    def needs(self, matching: TaskFilter = ALL) -> dict[str, int]:
        return dict(Counter(row.need for row in self._matching(matching) if row.need))

    def running(self) -> list[TaskId]:
        return [row.id for row in self._journal.rows() if row.status == "in_progress"]

    def pipeline_runs(self) -> list[str]:
        runs = dict.fromkeys(row.pipeline for row in self._journal.rows() if row.pipeline)
        return list(reversed(runs))

    def ends(self) -> dict[TaskId, float]:
        ends = [line for line in self._journal.lines if line.seq is not None and line.kind in _ENDS]
        return {task: max(one.at for one in ends if one.task == task) for task in {one.task for one in ends}}

    def claim_position(self, task: TaskId) -> int:
        claims = [
            position
            for position, line in enumerate(self._journal.lines, 1)
            if line.task == task and line.kind == "task_claimed" and line.seq is not None
        ]
        return max(claims, default=0)

    def _matching(self, task_filter: TaskFilter) -> list[TaskRow]:
        return [row for row in self._journal.rows() if _matches(row, task_filter)]


def _listed_status(row: TaskRow, task_filter: TaskFilter) -> str:
    is_left = row.status == "in_progress" and row.id in task_filter.without_owner
    return "pending" if is_left else row.status


def _is_queued(row: TaskRow) -> bool:
    return not row.need and row.status not in TERMINAL and row.status != TaskStatus.IN_PROGRESS


def _reading_key(row: TaskRow, since: float) -> tuple[int, str, float, tuple[int, ...]]:
    letters = tuple(map(ord, row.id))
    if row.status in TERMINAL and not row.need:
        return len(_SECTIONS), "", -row.updated_at, (*(-letter for letter in letters), 1)
    if row.need:
        return _SECTIONS.index(row.need), row.priority, since, letters
    section = "queued" if _is_queued(row) else "running"
    return _SECTIONS.index(section), *row.place[:2], letters


def _matches(row: TaskRow, task_filter: TaskFilter) -> bool:
    status = _listed_status(row, task_filter)
    is_any = not task_filter.statuses and not task_filter.needs
    text = task_filter.text.translate(_LOWER)
    return (
        (is_any or status in task_filter.statuses or row.need in task_filter.needs)
        and (text in row.title.translate(_LOWER) or text in row.id.translate(_LOWER))
        and task_filter.pipeline in ("", row.pipeline)
        and task_filter.priority in ("", row.priority)
        and (row.archived_at is not None) == task_filter.archived
        and row.updated_at >= task_filter.since
    )
