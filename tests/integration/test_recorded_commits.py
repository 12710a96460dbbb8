"""Diff and export read the recorded commits, which outlive the branch of a task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from web_world import serve
from world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def run_and_merge(world: World) -> str:
    """Complete a task, merge its branch and delete it as a person does."""
    task = world.new("Add a greeting")
    world.ostler("run", task)
    world.git("merge", "-q", f"ostler/{task}")
    assert f"ostler/{task}" in world.ostler("cleanup", "--branches").stdout
    assert not world.git("branch", "--list", "ostler/*")
    return task


def test_diff_and_export_work_without_the_branch(world: World) -> None:
    """The recorded commits are kept under refs/ostler after the branch is merged and deleted."""
    task = run_and_merge(world)
    assert "fake-agent.txt" in world.json("diff", task)["patch"]
    assert "fake-agent.txt" in world.ostler("export", task).stdout
    assert world.git("rev-parse", f"refs/ostler/tasks/{task}").strip() == world.show(task)["commit"]


@pytest.mark.full
def test_commits_survive_a_rewritten_target(world: World) -> None:
    """Garbage collection after a reset of the target does not delete the work."""
    task = run_and_merge(world)
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    assert "fake-agent.txt" in world.json("diff", task)["patch"]


def test_a_moved_branch_does_not_change_the_diff(world: World) -> None:
    """A commit that a person adds to the branch later is not part of the task's changes."""
    task = world.new("Add a greeting")
    world.ostler("run", task)
    world.git("switch", "-q", f"ostler/{task}")
    Path(world.root, "later.txt").write_text("later\n")
    world.git("add", "later.txt")
    world.git("commit", "-q", "-m", "later")
    assert "later.txt" not in world.json("diff", task)["patch"]


@pytest.mark.full
def test_the_diff_of_purged_commits_is_one_sentence(world: World) -> None:
    """Missing commits are exit code 2 and HTTP 404, without an error of git."""
    task = run_and_merge(world)
    world.git("update-ref", "-d", f"refs/ostler/tasks/{task}")
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    shown = world.ostler("diff", task, code=2).stderr
    assert f"of {task} is not in the repository any more" in shown
    assert world.ostler("export", task).returncode == 0
    server = serve(world)
    answer = server.get(f"/tasks/{task}/diff", status=404)
    assert "fatal" not in str(answer)
    server.stop()
