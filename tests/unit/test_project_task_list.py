"""A page of the task list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.engine.records import append_event
from ostler.files.lock import try_lock
from ostler.model.event import TaskClaimed
from ostler.model.notice import ToolUsedNotice
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.lists.change_sizes import ChangeSizes
from ostler.project.tasks.lists.task_list import TaskQuery, read_page
from ostler.views.agent_work.live import Live


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project.open(tmp_path, {}, create=True) as made:
        yield made


def test_a_task_without_a_run_waits(project: Project) -> None:
    """A task of a killed run is found and counted as abandoned."""
    carried, left = (project.add(Task(title)).id for title in ("Carried", "Left"))
    for task in (carried, left):
        append_event(project.journal, task, TaskClaimed("run"), 1.0)
    project.journal.notify(carried, 2.0, [ToolUsedNotice("Edit", "a.py")])
    held = try_lock(project.layout.lock(carried))
    assert held is not None
    with held:
        running = read_page(project, TaskQuery(("in_progress",)), Live(), ChangeSizes()).view
        waiting = read_page(project, TaskQuery(("pending",)), Live(), ChangeSizes()).view
    assert [(row.id, row.group, row.activity) for row in running.tasks] == [(carried, "running", "edit a.py")]
    assert [(row.id, row.group, row.activity) for row in waiting.tasks] == [(left, "waiting", "")]
    assert (running.total, running.counts.running, running.counts.waiting) == (1, 1, 1)


def test_what_a_task_waits_for_is_reported(project: Project) -> None:
    """Also when the dependency is on another page."""
    first = project.add(Task("First")).id
    second = project.add(Task("Second", after=(first,))).id
    page = read_page(project, TaskQuery(sort="created", limit=1), Live(), ChangeSizes())
    assert [(row.id, row.waits_for) for row in page.view.tasks] == [(second, (first,))]
    rest = read_page(project, TaskQuery(sort="created", limit=1, after=page.last), Live(), ChangeSizes())
    assert [row.id for row in rest.view.tasks] == [first]
    assert rest.last == ()


def test_the_position_is_from_before_the_look(project: Project) -> None:
    """A reader of the feed from this position misses nothing."""
    project.add(Task("First"))
    assert read_page(project, TaskQuery(), Live(), ChangeSizes()).view.position == project.journal.position()
