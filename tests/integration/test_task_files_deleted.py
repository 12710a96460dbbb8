"""Deleted files of tasks: those that the journal can restore are written again, and no other task stops."""

from __future__ import annotations

import shutil

import pytest

from journal_file import journal_path
from world import World, wait_until


def delete_files(world: World) -> None:
    for folder in (journal_path(world.root).parent / "tasks").iterdir():
        shutil.rmtree(folder)


@pytest.mark.full
def test_before_a_run(world: World) -> None:
    """All tasks complete, and the files are there again; those of ended tasks after a rebuild."""
    tasks = [world.new(title) for title in ("First", "Second")]
    delete_files(world)
    world.ostler("run", "--all")
    assert [world.show(task)["status"] for task in tasks] == ["completed"] * 2
    world.ostler("journal", "check")
    delete_files(world)
    assert f"the files of {tasks[0]} are missing" in world.ostler("journal", "check", code=3).stdout
    world.ostler("journal", "rebuild")
    world.ostler("journal", "check")


def test_during_a_call(world: World) -> None:
    """The answer is used."""
    world.behave(delay_seconds=1.0)
    task = world.new()
    run = world.start("run", task)
    wait_until(world.started, 30, "the agent did not start")
    delete_files(world)
    assert run.wait(60) == 0
    assert world.show(task)["status"] == "completed"
    assert len(world.started()) == 1


def test_directory_that_cannot_be_made(world: World) -> None:
    """Only its own task waits."""
    tasks = [world.new(title) for title in ("First", "Second")]
    delete_files(world)
    (journal_path(world.root).parent / "tasks" / tasks[0]).write_text("a file")
    world.ostler("run", "--all", code=None)
    assert [world.show(task)["status"] for task in tasks] == ["blocked", "completed"]
