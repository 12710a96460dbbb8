"""The choice of the next tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from ostler.engine.task_queue import choose_tasks, is_runnable
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus


def row(
    name: str,
    status: str = "pending",
    priority: str = "P2",
    created_at: float = 1.0,
    resumes_at: float | None = None,
    open: bool = True,
    after: Sequence[str] = (),
    not_before: float | None = None,
) -> TaskRow:
    first = tuple(TaskId(one) for one in after)
    plain = (TaskId(name), 1, status, name, priority, created_at, created_at, b"", resumes_at, open)
    return TaskRow(*plain, first, not_before)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("pending", True),
        ("assigned", True),
        ("revision", True),
        ("in_progress", True),  # left by a killed run: its lock decides
        ("paused", False),
        ("needs_review", False),
        ("blocked", False),
        ("deferred", False),
        ("completed", False),
        ("failed", False),
        ("quarantined", False),
        ("cancelled", False),
    ],
)
def test_what_a_run_may_take_by_itself(status: str, expected: bool) -> None:
    """Executable tasks (C82), and tasks of a killed run."""
    assert is_runnable(row("a", status, open=TaskStatus(status) not in TERMINAL), now=9.0) is expected


def test_a_deferred_task_is_taken_when_it_is_due() -> None:
    """A deferred task is runnable exactly from its time on."""
    assert not is_runnable(row("a", "deferred", resumes_at=10.0), now=9.9)
    assert is_runnable(row("a", "deferred", resumes_at=10.0), now=10.0)


def test_an_ended_task_whose_workspace_is_left_is_taken_once_more() -> None:
    """A terminal task is runnable while its workspace is not released."""
    assert is_runnable(row("a", "completed", open=True), now=1.0)


def test_begun_first_then_priority_then_age() -> None:
    """At most `free` tasks are returned, without those that are taken."""
    board = [
        row("old", created_at=1.0),
        row("new", created_at=2.0),
        row("urgent", priority="P0", created_at=3.0),
        row("begun", "in_progress", "P3", created_at=4.0),
        row("blocked", "blocked", "P0"),
    ]
    assert choose_tasks(board, (), 9, now=9.0, statuses={}) == ["begun", "urgent", "old", "new"]
    assert choose_tasks(board, {TaskId("begun")}, 2, now=9.0, statuses={}) == ["urgent", "old"]
    assert choose_tasks(board, (), 0, now=9.0, statuses={}) == []


def test_a_deferral_recorded_in_the_future_is_over() -> None:
    """A deferral recorded days in the future is ignored; one of seconds is kept."""
    assert is_runnable(row("t", "deferred", created_at=900_000.0, resumes_at=900_060.0), now=1_000.0)
    assert not is_runnable(row("t", "deferred", created_at=1_005.0, resumes_at=1_060.0), now=1_000.0)


def test_a_task_is_not_begun_before_its_time() -> None:
    """A task in progress is runnable before `not_before`, because it was started already."""
    assert not is_runnable(row("t", not_before=10.0), now=9.9)
    assert is_runnable(row("t", not_before=10.0), now=10.0)
    assert is_runnable(row("t", "in_progress", not_before=10.0), now=9.9)


@pytest.mark.parametrize("status", list(TaskStatus))
def test_a_task_waits_until_all_before_it_are_completed(status: TaskStatus) -> None:
    """Any other status than completed is not enough."""
    statuses = {TaskId("done"): "completed", TaskId("other"): status.value}
    ready = choose_tasks([row("t", after=("done", "other"))], (), 9, 9.0, statuses)
    assert ready == (["t"] if status in ("completed", "approved") else [])


def test_what_was_begun_goes_on_whatever_becomes_of_those_before_it() -> None:
    """Started and deferred tasks do not wait for their dependencies again."""
    begun = [row("a", "in_progress", after=("x",)), row("b", "deferred", resumes_at=1.0, after=("x",))]
    assert choose_tasks(begun, (), 9, 9.0, {TaskId("x"): "pending"}) == ["a", "b"]


def test_an_urgent_task_that_waits_lets_others_pass() -> None:
    """A task that waits for others does not block tasks of lower priority."""
    board = [row("urgent", priority="P0", after=("plain",)), row("plain", priority="P3")]
    assert choose_tasks(board, (), 9, 9.0, {TaskId("plain"): "pending"}) == ["plain"]


def test_a_chain_of_ten_thousand_is_chosen_from_in_no_time() -> None:
    """The choice takes linear time: ten times the promised 50 ms are allowed."""
    names = [TaskId(f"t{number}") for number in range(10_000)]
    board = [row(name, after=names[max(0, n - 1) : n]) for n, name in enumerate(names)]
    statuses = dict.fromkeys(names, "pending")
    began = time.perf_counter()
    assert choose_tasks(board, (), 9, 9.0, statuses) == ["t0"]
    assert time.perf_counter() - began < 0.5


TERMINAL = {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED}
