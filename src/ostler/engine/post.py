"""Writes what a person decided, from outside any run."""

from __future__ import annotations

from collections.abc import Callable

from ostler.engine.core.evolve import begin, evolve
from ostler.engine.core.passed import passed
from ostler.errors import UsageError
from ostler.model.event import Event, Record, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.rows import row_of, state_of
from ostler.model.state import State
from ostler.store.journal import Journal

RULES = 1
"""The rules that new tasks follow for good; raised when decide or evolve change what they do."""


def create(journal: Journal, created: TaskCreated, now: float) -> State | None:
    """The first record of a task; None when its id is taken."""
    record = Record(created.task.id, 1, now, created)
    state = begin(record)
    return state if journal.append(record, row_of(state)) else None


def post(journal: Journal, task: TaskId, event: Event, now: float) -> State:
    """One more record, after whatever came first; the state that it leads to."""
    return answer(journal, task, lambda _: event, now)


def answer(journal: Journal, task: TaskId, judge: Callable[[State], Event], now: float) -> State:
    """One more record, made for the very state that it follows; whatever `judge` raises writes nothing."""
    while True:
        row = journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "ostler status lists them")
        before = state_of(row)
        record = Record(task, before.seq + 1, now, judge(before))
        after = evolve(before, record)
        if journal.append(record, row_of(after), passed(before, after)):
            return after
