"""The waiting tasks of a project for a forecast: the first ones, and the number of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.engine.dependencies import list_unmet
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.store.sql_journal import SqlJournal
from ostler.views.forecast.forecast import MOST_SINGLE, WaitingTask

_SAMPLE = 20
_DONE = ("completed", "skipped")
_COMING = (*EXECUTABLE, TaskStatus.DEFERRED, TaskStatus.IN_PROGRESS)


class Queue(Struct, frozen=True):
    """The tasks of a forecast."""

    waiting: Sequence[WaitingTask]
    running: Sequence[WaitingTask] = ()
    blocked: int = 0  # further tasks that depend on tasks that neither wait nor run


class _Phase(Struct, frozen=True):
    id: str
    status: str = "pending"


class _State(Struct, frozen=True):
    """The part of a state that a forecast needs: decoding a part is faster."""

    weight: str
    phases: tuple[_Phase, ...]


_decode = msgspec.json.Decoder(_State).decode


def read_queue(journal: SqlJournal, left: Collection[TaskId]) -> Queue:
    """Return the queue; `left` are the tasks in progress that no run has claimed, which wait too.

    The first tasks are read, and some of each further priority. The others count like those, so that a long
    queue takes no longer to read than a short one.
    """
    blocked = _find_blocked(journal)
    waiting: list[WaitingTask] = []
    for priority, number in sorted(journal.listing.waiting().items()):
        behind = sum(row.priority == priority for row in blocked.values())
        limit = behind + max(_SAMPLE, MOST_SINGLE - len(waiting))
        rows = journal.named_rows(journal.listing.queue(priority, limit))
        first = [to_waiting(row) for row in rows if _is_waiting(row) and row.id not in blocked]
        waiting += [*first, *_add_others(first, number - len(rows))]
    running = journal.named_rows(journal.listing.running())
    waiting += [to_waiting(row) for row in running if row.id in left]
    return Queue(waiting, [to_waiting(row) for row in running if row.id not in left], len(blocked))


def to_waiting(row: TaskRow) -> WaitingTask:
    state = _decode(row.state)
    phases = tuple([phase.id for phase in state.phases if phase.status not in _DONE])
    at = format_rfc3339(row.created_at if row.queued_at is None else row.queued_at)
    earliest = max(row.not_before or 0.0, row.resumes_at or 0.0)
    return WaitingTask(row.id, state.weight, phases, row.priority, at, earliest)


def _is_waiting(row: TaskRow) -> bool:
    return row.status in EXECUTABLE or (row.status == TaskStatus.DEFERRED and row.resumes_at is not None)


def _find_blocked(journal: SqlJournal) -> dict[TaskId, TaskRow]:
    """Return the waiting tasks with a dependency that neither waits nor runs, so that none is started."""
    rows = [row for row in journal.named_rows(journal.listing.dependent()) if _is_waiting(row)]
    statuses = journal.statuses({task for row in rows for task in row.after})
    unmet = {row.id: list_unmet(row, statuses) for row in rows}
    blocked: dict[TaskId, TaskRow] = {}
    while True:
        more = [
            row
            for row in rows
            if row.id not in blocked
            and any(task in blocked or statuses.get(task) not in _COMING for task in unmet[row.id])
        ]
        if not more:
            return blocked
        blocked |= {row.id: row for row in more}


def _add_others(first: Sequence[WaitingTask], others: int) -> Iterable[WaitingTask]:
    """Return items for so many further tasks, of the kinds of the first ones and in their proportions."""
    if not first or others <= 0:
        return
    kinds = Counter((task.weight, task.phases, task.earliest) for task in first)
    seen = given = 0
    for (weight, phases, earliest), number in kinds.items():
        seen += number
        upto = others * seen // len(first)
        if upto > given:
            kind = replace(first[-1], weight=weight, phases=phases, earliest=earliest)
            yield replace(kind, tasks=upto - given)
        given = upto
