"""A task of a newer version: programs of this version read it, and write nothing to it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from git_world import make_world
from ostler.engine.board import look_at
from ostler.engine.board_reader import read_board
from ostler.engine.board_writer import settle_board
from ostler.engine.core.rules import RULES
from ostler.engine.records import append_event
from ostler.errors import Code, StateError
from ostler.model.event import DecisionRecorded, TaskFailed
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.testing.mocks import CallFunction
from step_services import make_services


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.open(make_world(tmp_path).project, {}, create=True)


def add_newer(project: Project, monkeypatch: pytest.MonkeyPatch, **more: object) -> TaskId:
    """Add a task as the next version does."""
    with monkeypatch.context() as patch:
        patch.setattr("ostler.project.tasks.adding.RULES", RULES + 1)
        return project.add(Task("Of the next version", **more)).id  # pyright: ignore[reportArgumentType]


def test_a_decision_about_it_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and nothing is written; it is listed and shown."""
    task = add_newer(project, monkeypatch)
    before = project.journal.row(task)
    with pytest.raises(StateError) as refused:
        append_event(project.journal, task, DecisionRecorded("cancel", "now"), 9.0)
    assert refused.value.code is Code.STATE_VERSION
    assert refused.value.message == f"task {task} was created or continued by a newer Ostler"
    assert project.journal.row(task) == before
    assert project.show(task).status == "pending"


async def never(*_: object) -> object:
    raise AssertionError("no agent is called")


def test_the_board_decides_about_the_others(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both wait for a task that failed; the one of this version is blocked."""
    first = project.add(Task("First")).id
    mine = project.add(Task("Mine", after=(first,))).id
    newer = add_newer(project, monkeypatch, after=(first,))
    append_event(project.journal, first, TaskFailed(Code.STUCK, "no way"), 9.0)
    work: CallFunction = never  # pyright: ignore[reportAssignmentType]

    async def settle() -> None:
        writer = project.store.open_writer()
        try:
            board = read_board(project.journal, project.journal.open_rows())
            await settle_board(
                board, lambda one: look_at(one, 10.0, ()), make_services(project, writer, work)
            )
        finally:
            await writer.close()

    asyncio.run(settle())
    assert project.show(mine).status == "blocked"
    assert project.show(newer).status == "pending"
