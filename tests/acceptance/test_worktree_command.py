"""ostler worktree and cleanup: what ended tasks left is taken away, work never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from world import World


@pytest.fixture(autouse=True)
def keep_worktrees(world: World) -> None:
    world.environ["OSTLER_GIT__CLEANUP_ON_COMPLETE"] = "false"


def finished(world: World) -> str:
    task = world.new()
    world.ostler("run", task)
    return task


def test_a_project_without_worktrees_says_so(world: World) -> None:
    """One calm sentence, and an empty list for scripts."""
    world.new()
    assert "No worktrees" in world.ostler("worktree", "list").stdout
    assert world.json("worktree", "list")["worktrees"] == []


def test_the_worktree_of_an_ended_task_is_listed_and_pruned(world: World) -> None:
    """The branch stays, and the task no longer names a worktree."""
    task = finished(world)
    (place,) = world.json("worktree", "list")["worktrees"]
    assert (place["task"], place["status"], place["uncommitted"]) == (task, "completed", False)
    assert world.json("worktree", "prune")["taken"] == [place["path"]]
    assert not Path(place["path"]).exists()
    assert world.show(task)["worktree"] is None
    assert world.git("rev-parse", f"ostler/{task}").strip() == world.show(task)["commit"]


def test_work_that_is_not_committed_is_left_alone(world: World) -> None:
    """Someone wrote into the worktree afterwards: only --force takes that away."""
    task = finished(world)
    place = Path(world.show(task)["worktree"])
    (place / "mine.txt").write_text("mine")
    done = world.ostler("worktree", "prune")
    assert "not committed" in done.stderr and place.exists()
    world.ostler("worktree", "prune", "--force")
    assert not place.exists()


def test_an_open_task_keeps_its_worktree(world: World) -> None:
    """A blocked task needs it."""
    world.behave(text="<phase_blocked>no key</phase_blocked>")
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.json("cleanup")["taken"] == []
    assert Path(world.show(task)["worktree"]).exists()


def test_merged_branches_go_when_asked(world: World) -> None:
    """Only a branch whose commits are in its target, and only with --branches."""
    merged, open_ = finished(world), finished(world)
    world.ostler("worktree", "prune")
    world.git("merge", "-q", "--no-edit", f"ostler/{merged}")
    assert world.json("cleanup")["branches"] == []
    assert world.json("cleanup", "--branches")["branches"] == [f"ostler/{merged}"]
    left = world.git("branch", "--list", "--format=%(refname:short)", "ostler/*").split()
    assert left == [f"ostler/{open_}"]
