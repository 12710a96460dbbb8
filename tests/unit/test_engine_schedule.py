"""Which tasks a run takes next."""

from __future__ import annotations

import pytest

from ostler.engine.schedule import choose, takeable
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
) -> TaskRow:
    return TaskRow(TaskId(name), 1, status, name, priority, created_at, created_at, b"", resumes_at, open)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("pending", True),
        ("assigned", True),
        ("revision", True),
        ("in_progress", True),  # left by a run that died: its lock decides
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
    """C82, and what a dead run left."""
    assert takeable(row("a", status, open=TaskStatus(status) not in TERMINAL), now=9.0) is expected


def test_a_deferred_task_is_taken_when_it_is_due() -> None:
    """Not a second before."""
    assert not takeable(row("a", "deferred", resumes_at=10.0), now=9.9)
    assert takeable(row("a", "deferred", resumes_at=10.0), now=10.0)


def test_an_ended_task_whose_workspace_is_left_is_taken_once_more() -> None:
    """The run died between the end and the release."""
    assert takeable(row("a", "completed", open=True), now=1.0)


def test_begun_first_then_priority_then_age() -> None:
    """And never more than there is room for, nor what is taken already."""
    board = [
        row("old", created_at=1.0),
        row("new", created_at=2.0),
        row("urgent", priority="P0", created_at=3.0),
        row("begun", "in_progress", "P3", created_at=4.0),
        row("blocked", "blocked", "P0"),
    ]
    assert choose(board, (), 9, now=9.0) == ["begun", "urgent", "old", "new"]
    assert choose(board, {TaskId("begun")}, 2, now=9.0) == ["urgent", "old"]
    assert choose(board, (), 0, now=9.0) == []


def test_a_rest_that_began_in_the_future_is_over() -> None:
    """The clock was wrong by days then; a correction of seconds changes nothing."""
    assert takeable(row("t", "deferred", created_at=900_000.0, resumes_at=900_060.0), now=1_000.0)
    assert not takeable(row("t", "deferred", created_at=1_005.0, resumes_at=1_060.0), now=1_000.0)


TERMINAL = {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED}
