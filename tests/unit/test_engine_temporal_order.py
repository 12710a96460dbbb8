"""The order in which the Temporal server gives tasks to workers."""

from __future__ import annotations

import pytest

from ostler.engine.temporal.starter import find_priority
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId


def make(priority: str, pipeline: str = "") -> TaskRow:
    return TaskRow(TaskId("a"), 1, "pending", "A", priority, 0, 0, b"{}", pipeline=pipeline)


@pytest.mark.parametrize(("priority", "key"), [("P0", 1), ("P2", 3), ("P4", 5)])
def test_urgent_tasks_come_first(priority: str, key: int) -> None:
    """The server has the priorities 1 to 5 by default, as many as there are here."""
    assert find_priority(make(priority)).priority_key == key


def test_pipelines_take_turns() -> None:
    """A pipeline of hundreds of tasks does not delay the others; the server accepts 64 characters."""
    assert find_priority(make("P2")).fairness_key is None
    assert find_priority(make("P2", "p" * 100)).fairness_key == "p" * 64
