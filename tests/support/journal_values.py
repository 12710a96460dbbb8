"""Small records, rows and attempts for the tests of the store."""

from __future__ import annotations

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import Event, Record, TaskClaimed
from ostler.model.ids import TaskId

TASK = TaskId("fix-login-ab12")
OTHER = TaskId("fix-logout-cd34")


def make_record(
    seq: int = 1, task: TaskId = TASK, event: Event | None = None, at: float | None = None
) -> Record:
    return Record(
        task,
        seq,
        1000.5 + seq if at is None else at,
        event or TaskClaimed(f"run-{seq}"),
        f"{task}/{seq}.implement/call",
        seq - 1,
    )


def make_row(seq: int = 1, task: TaskId = TASK, created_at: float = 1000.0) -> TaskRow:
    state = f"state {seq}".encode()
    return TaskRow(task, seq, "pending", "Fix the login", "P2", created_at, 1000.5 + seq, state)


def make_attempt(task: TaskId = TASK, number: int = 0, started_at: float = 2000.0) -> Attempt:
    return Attempt(task, f"{task}/1.implement.1/call", "run-1", "implement", 1, "claude", started_at, number)
