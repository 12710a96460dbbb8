"""ostler worktree and cleanup: leftovers of ended tasks are removed, work never is."""

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


def test_a_project_without_worktrees_shows_a_message(world: World) -> None:
    """One sentence, and an empty list for scripts."""
    world.new()
    assert "No worktrees" in world.ostler("worktree", "list").stdout
    assert world.json("worktree", "list")["worktrees"] == []


def test_the_worktree_of_an_ended_task_is_listed_and_pruned(world: World) -> None:
    """The branch is kept, and the task no longer names a worktree."""
    task = finished(world)
    (place,) = world.json("worktree", "list")["worktrees"]
    assert (place["task"], place["status"], place["uncommitted"]) == (task, "completed", False)
    assert world.json("worktree", "prune")["removed"] == [place["path"]]
    assert not Path(place["path"]).exists()
    assert world.show(task)["worktree"] is None
    assert world.git("rev-parse", f"ostler/{task}").strip() == world.show(task)["commit"]


def test_work_that_is_not_committed_is_left_alone(world: World) -> None:
    """The worktree was changed afterwards: only --force removes it."""
    task = finished(world)
    place = Path(world.show(task)["worktree"])
    (place / "mine.txt").write_text("mine")
    done = world.ostler("worktree", "prune")
    assert "uncommitted work" in done.stderr and place.exists()
    world.ostler("worktree", "prune", "--force")
    assert not place.exists()


def test_an_open_task_keeps_its_worktree(world: World) -> None:
    """A blocked task needs it."""
    world.behave(text="<phase_blocked>no key</phase_blocked>")
    task = world.new()
    world.ostler("run", task, code=4)
    assert world.json("cleanup")["removed"] == []
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


@pytest.fixture
def large(world: World) -> World:
    """A project large enough to keep files, and tasks that release their worktrees."""
    world.environ["OSTLER_GIT__CLEANUP_ON_COMPLETE"] = "true"
    for number in range(900):
        (world.root / f"a-rather-long-name-of-a-file-{number:04}.txt").write_text(f"{number}\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "many files")
    return world


@pytest.mark.full
def test_a_released_worktree_is_kept_for_the_next_task(large: World) -> None:
    """It is listed as such, reused without a trace of the first task, and pruned on request."""
    first = finished(large)
    (kept,) = large.json("worktree", "list")["worktrees"]
    assert kept["warm"] and kept["task"] == "" and Path(kept["path"]).is_dir()
    assert "reused by the next task" in large.ostler("worktree", "list").stdout
    assert large.git("worktree", "list").count("\n") == 1
    inode = Path(kept["path"]).lstat().st_ino
    second = finished(large)
    (again,) = large.json("worktree", "list")["worktrees"]
    assert Path(again["path"]).lstat().st_ino == inode, "it was not used again"
    changed = [large.git("diff", "--name-only", "main", f"ostler/{task}").split() for task in (first, second)]
    assert changed[0] == changed[1] != []
    assert large.git("status", "--porcelain") == ""
    assert large.json("cleanup")["removed"] == [again["path"]]
    assert large.json("worktree", "list")["worktrees"] == []


@pytest.mark.full
def test_nothing_is_kept_when_that_is_switched_off(large: World) -> None:
    """warm_worktrees = 0, as config show prints."""
    large.environ["OSTLER_GIT__WARM_WORKTREES"] = "0"
    shown = [line.split() for line in large.ostler("config", "show").stdout.splitlines()]
    assert ["git.warm_worktrees", "0"] in [words[:2] for words in shown]
    finished(large)
    assert large.json("worktree", "list")["worktrees"] == []
    large.ostler("cleanup")
    assert not any((large.root / ".ostler" / "worktrees" / ".trash").iterdir())
