"""Appends events to the journal from outside a run."""

from __future__ import annotations

from collections.abc import Callable

from ostler.engine.core.evolve import begin, evolve
from ostler.engine.core.moves import list_completed_phases
from ostler.errors import UsageError
from ostler.model.event import Event, Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.secrets.redact import redact_struct
from ostler.store.journal import Journal


def create_task(journal: Journal, created: TaskCreated, now: float) -> State | None:
    """Append the first record of a task; return None if its id is in use."""
    record = Record(created.task.id, 1, now, redact_struct(created))
    state = begin(record)
    return state if journal.append(record, build_row(state)) else None


def append_event(journal: Journal, task: TaskId, event: Event, now: float) -> State:
    """Append an event after those of other processes, and return the new state."""
    return append_computed_event(journal, task, lambda _: event, now)


def append_computed_event(
    journal: Journal, task: TaskId, make_event: Callable[[State], Event], now: float
) -> State:
    """Append the event that `make_event` returns for the current state; nothing if it raises."""
    while True:
        row = journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "list the tasks: ostler status")
        before = decode_state(row)
        record = Record(task, before.seq + 1, now, redact_struct(make_event(before)))
        after = evolve(before, record)
        if journal.append(record, build_row(after), list_completed_phases(before, after)):
            return after
