"""P9: after kill -9 with 1000 tasks in progress, the next step of each, against a raw read of the index."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from measure import Result, interleave, milliseconds, ratio, scratch, show
from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve
from ostler.engine.post import RULES, create
from ostler.engine.schedule import choose
from ostler.model.event import Record, TaskClaimed, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.plan import plan_for
from ostler.model.rows import row_of, state_of
from ostler.model.task import Task
from ostler.store.sqlite import SqliteJournal

OPEN, FEW, MANY = 1000, 10_000, 1_000_000
NOTICE = """
    INSERT INTO feed (task, at, type, step, basis, body)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    SELECT 'old-' || (i % 1000), i, 'tool_used', '', 0, '{"type":"tool_used","tool":"Bash","detail":"make"}'
    FROM n"""


def measure() -> list[Result]:
    with scratch() as place:
        few, many = fill(place / "few.db", FEW), fill(place / "many.db", MANY)
        ours, raw = interleave(lambda: decide_all(few), lambda: read_index(few.path))
        small, large = interleave(lambda: decide_all(few), lambda: decide_all(many))
        few.close()
        many.close()
    return [
        ratio("P9", f"{OPEN} open tasks decided / raw index scan", ours, raw, "<= 10", milliseconds),
        ratio("P9", "the same with 1 M events / with 10 k", large, small, "<= 1.5", milliseconds),
    ]


def fill(path: Path, events: int) -> SqliteJournal:
    """A journal with so many old notices, and tasks that a dead run left in progress."""
    journal = SqliteJournal(path, create=True)
    bulk = apsw.Connection(str(path))
    bulk.execute(NOTICE, (events,)).fetchall()
    bulk.close()
    with journal.transaction():
        for number in range(OPEN):
            leave_open(journal, TaskId(f"task-{number:04d}"))
    return journal


def leave_open(journal: SqliteJournal, task: TaskId) -> None:
    created = TaskCreated(Task("A task", id=task), plan_for("small"), RULES, "0" * 32)
    state = create(journal, created, time.time())
    assert state is not None
    record = Record(task, 2, time.time(), TaskClaimed("a run that died"))
    journal.append(record, row_of(evolve(state, record)))


def decide_all(journal: SqliteJournal) -> None:
    """What a new run does before it starts anything: find what is open, and what each task wants."""
    board = journal.open_rows()
    chosen = set(choose(board, set(), len(board), time.time(), {}))
    steps = [decide(state_of(row)) for row in board if row.id in chosen]
    assert len(steps) == OPEN and None not in steps


def read_index(path: Path) -> None:
    db = apsw.Connection(str(path))
    found = db.execute("SELECT id FROM task WHERE open ORDER BY created_at, id").fetchall()
    db.close()
    assert len(found) == OPEN


if __name__ == "__main__":
    show(measure())
