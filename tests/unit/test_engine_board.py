"""The board: what a driver does with the tasks that it sees, as a table of cases."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.engine.board import Board, can_start, has_pipeline_slot, look_at
from ostler.engine.core.evolve import fold
from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import Event, Record, TaskBlocked, TaskClaimed, TaskCreated, TaskFailed, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.plan import build_plan
from ostler.model.rows import build_row
from ostler.model.task import PipelineMember, Task

RUN = "nightly-1"


def row(name: str, *events: Event, after: Sequence[str] = (), run: str = "", stop: bool = True) -> TaskRow:
    """A task after these events."""
    member = PipelineMember(run, name, 1, stop) if run else None
    task = Task(name, id=TaskId(name), after=tuple(map(TaskId, after)), pipeline=member)
    history = (TaskCreated(task, build_plan("trivial"), 1, "seed"), *events)
    return build_row(fold([Record(TaskId(name), n, float(n), event) for n, event in enumerate(history, 1)]))


def board(*rows: TaskRow, **statuses: str) -> Board:
    known = {TaskId(name): status for name, status in statuses.items()}
    return Board(rows, known, {}, [one for one in rows if one.pipeline])


def test_what_is_neither_running_nor_done_is_started() -> None:
    """Tasks are started in the order of the queue, without those of this moment."""
    seen = board(row("first"), row("second"), row("third"))
    assert look_at(seen, 9.0, ()).start == ["first", "second", "third"]
    assert look_at(seen, 9.0, {TaskId("second")}, lambda one: one.id == "first").start == ["third"]


def test_a_failed_dependency_blocks_and_a_repaired_one_reopens() -> None:
    """The events are returned with the rows that they follow; nothing blocked is started after them."""
    waiting = row("last", after=["first"])
    orders = look_at(board(waiting, first="failed"), 9.0, ())
    ((seen, event),) = orders.events
    assert seen is waiting
    assert isinstance(event, TaskBlocked)
    blocked = row("last", event, after=["first"])
    assert look_at(board(blocked, first="failed"), 9.0, ()) == type(orders)([], [], [])
    ((_, reopened),) = look_at(board(blocked, first="completed"), 9.0, ()).events
    assert isinstance(reopened, TaskReopened)


def test_a_stopped_pipeline_cancels_what_runs_and_blocks_what_waits() -> None:
    """Only running tasks are cancelled; a task of another pipeline is not affected."""
    failed = row("a", TaskClaimed("x"), TaskFailed(Code.AGENT_FAILED, "no"), run=RUN)
    running, waiting = row("b", TaskClaimed("x"), run=RUN), row("c", run=RUN)
    other = row("d", TaskClaimed("x"), run="other-1")
    seen = Board([running, waiting, other], {}, {}, [failed, running, waiting, other])
    orders = look_at(seen, 9.0, {running.id, other.id})
    assert [task for task, _ in orders.cancel] == ["b"]
    assert [one.id for one, _ in orders.events] == ["c"]


def test_rows_after_their_events_are_looked_at_again() -> None:
    """A reopened task is started in the same round."""
    blocked = row("last", TaskBlocked(Code.DEPENDENCY_FAILED, ""), after=["first"])
    seen = board(blocked, first="completed")
    assert look_at(seen, 9.0, ()).start == []
    reopened = row(
        "last", TaskBlocked(Code.DEPENDENCY_FAILED, ""), TaskReopened(by="dependency"), after=["first"]
    )
    assert look_at(seen.update({reopened.id: reopened}), 9.0, ()).start == ["last"]


def test_a_pipeline_has_as_many_slots_as_it_may_use() -> None:
    """Tasks of other pipelines, and the task itself, do not count."""
    members = {one.id: one for one in (row("a", run=RUN), row("b", run=RUN), row("c", run="other-1"))}
    assert not has_pipeline_slot(TaskId("a"), members, [TaskId("b")])
    assert has_pipeline_slot(TaskId("a"), members, [TaskId("a"), TaskId("c")])
    assert has_pipeline_slot(TaskId("free"), members, list(members))


def test_the_last_check_sees_a_dependency_that_is_open() -> None:
    """The board may be outdated when the task is locked."""
    waiting = row("last", after=["first"])
    assert can_start(waiting, 9.0, {TaskId("first"): "completed"}, {})
    assert not can_start(waiting, 9.0, {TaskId("first"): "in_progress"}, {})
