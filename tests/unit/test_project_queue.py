"""The place of a task in the queue: moved by a person, listed and started in that order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.clock import SystemClock
from ostler.engine.task_queue import choose_tasks
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.edit import TaskChanges, edit_task
from ostler.project.tasks.lists import queue
from ostler.store.listing import TaskFilter


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    for name in ("OSTLER_ATTEMPT", "OSTLER_TASK"):
        monkeypatch.delenv(name, raising=False)
    with Project.open(tmp_path, {}, create=True) as made:
        yield made


def _add(project: Project, *titles: str, **fields: Any) -> list[TaskId]:
    return [project.add(Task(title, **fields)).id for title in titles]


def _move(project: Project, task: TaskId, where: str) -> None:
    edit_task(project, task, TaskChanges(queue=where))


def _order(project: Project) -> str:
    """Return the first letters of the ids in the order in which a run starts the tasks."""
    rows = project.journal.open_rows()
    started = choose_tasks(rows, (), len(rows), 1e12, {})
    listed = project.journal.listing.page(TaskFilter(), "priority", (), 100)
    assert listed == started
    return "".join(task[0] for task in started)


def test_a_task_is_moved_to_every_place(project: Project) -> None:
    """Repeatedly between the same two as well; empty restores the place by age."""
    a, b, c, d = _add(project, "a", "b", "c", "d")
    assert _order(project) == "abcd"
    for task, where, order in (
        (d, "first", "dabc"),
        (a, "last", "dbca"),
        (c, f"before:{b}", "dcba"),
        (d, f"after:{c}", "cdba"),
        (b, f"before:{d}", "cbda"),
        (d, f"before:{b}", "cdba"),
        (a, "", "cdba"),
        (c, "", "dbac"),
    ):
        _move(project, task, where)
        assert _order(project) == order, where


def test_beside_a_task_of_another_priority_it_gets_that_one(project: Project) -> None:
    """It is placed there, not only at the end of that priority."""
    _add(project, "x", "y", priority="P0")
    (slow,) = _add(project, "slow", priority="P3")
    y = next(task for task in project.journal.listing.page(TaskFilter(), "priority", (), 9) if task[0] == "y")
    _move(project, slow, f"before:{y}")
    assert _order(project) == "xsy"
    assert project.task(slow).priority == "P0"


def test_tasks_of_one_moment_are_moved_apart(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import adds all of its tasks at one time."""
    monkeypatch.setattr(SystemClock, "now", staticmethod(lambda: 1000.0))
    _add(project, "a", "b", "c", "d")
    first, second, third, last = project.journal.listing.page(TaskFilter(), "priority", (), 9)
    assert len({row.created_at for row in project.journal.open_rows()}) == 1
    _move(project, last, f"before:{second}")
    assert _order(project) == first[0] + last[0] + second[0] + third[0]


@pytest.mark.parametrize("where", ["third", "before:", "first:x", "before:nope", "after:a"])
def test_any_other_place_is_refused(project: Project, where: str) -> None:
    """The message has the forms that are understood, or names the task that does not wait."""
    a, b = _add(project, "aa", "bb")
    project.act(b, "pause")
    with pytest.raises(UsageError):
        _move(project, a, where)
    with pytest.raises(UsageError, match="does not wait"):
        queue.find_moves(project, a, f"after:{b}", "P2")
