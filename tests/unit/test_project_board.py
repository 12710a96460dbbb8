"""A page of a project's tasks, as they truly stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.engine.post import post
from ostler.files.lock import try_lock
from ostler.model.event import TaskClaimed
from ostler.model.notice import ToolUsedNotice
from ostler.model.task import Task
from ostler.project.board import Wish, read_board
from ostler.project.project import Project
from ostler.views.live import Live


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as made:
        yield made


def test_a_task_that_nobody_carries_waits(project: Project) -> None:
    """Its row says in progress, but its run has died; it is found and counted where it belongs."""
    carried, left = (project.add(Task(title)).id for title in ("Carried", "Left"))
    for task in (carried, left):
        post(project.journal, task, TaskClaimed("run"), 1.0)
    project.journal.notify(carried, 2.0, [ToolUsedNotice("Edit", "a.py")])
    held = try_lock(project.layout.lock(carried))
    assert held is not None
    with held:
        running = read_board(project, Wish(("in_progress",)), Live()).view
        waiting = read_board(project, Wish(("pending",)), Live()).view
    assert [(row.id, row.group, row.doing) for row in running.tasks] == [(carried, "running", "Edit a.py")]
    assert [(row.id, row.group, row.doing) for row in waiting.tasks] == [(left, "waiting", "")]
    assert (running.total, running.counts.running, running.counts.waiting) == (1, 1, 1)


def test_what_a_task_waits_for_is_told(project: Project) -> None:
    """Also where that is on another page."""
    first = project.add(Task("First")).id
    second = project.add(Task("Second", after=(first,))).id
    page = read_board(project, Wish(sort="created", limit=1), Live())
    assert [(row.id, row.waits_for) for row in page.view.tasks] == [(second, (first,))]
    rest = read_board(project, Wish(sort="created", limit=1, after=page.last), Live())
    assert [row.id for row in rest.view.tasks] == [first]
    assert rest.last == ()


def test_the_position_is_from_before_the_look(project: Project) -> None:
    """Who follows the feed from there misses nothing."""
    project.add(Task("First"))
    assert read_board(project, Wish(), Live()).view.position == project.journal.position()
