"""A merge into a checkout whose git directory is elsewhere, and a merge that fails."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import BRANCH, git
from ostler.git.discovery import discover_repository
from ostler.git.identity import OSTLER
from ostler.git.publish.fast_forward import CheckedOutTarget
from ostler.git.publish.merge import merge_branch
from ostler.git.repository import Repository
from world import World

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@x")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def make_submodule(root: Path) -> Path:
    source, outer = root / "source", root / "outer"
    commit_in(source)
    git(root, "init", "-qb", "main", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "sub")
    return outer / "sub"


def make_separate(root: Path) -> Path:
    commit_in(root / "separate", f"--separate-git-dir={root / 'elsewhere.git'}")
    return root / "separate"


def commit_in(directory: Path, *options: str) -> None:
    git(directory.parent, "init", "-qb", "main", *options, str(directory))
    git(directory, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "first")


def add_branch(checkout: Path) -> Repository:
    """Commit on a task's branch in a linked worktree, and return its repository."""
    place = checkout.parent / "task"
    git(checkout, "worktree", "add", "-qb", BRANCH, str(place))
    (place / "mine.txt").write_text("mine")
    git(place, "add", "-A")
    git(place, *AUTHOR, "commit", "-qm", "work")
    found = discover_repository(place)
    assert found is not None
    return found


@pytest.mark.parametrize("make", [make_submodule, make_separate])
def test_the_checkout_moves_with_its_files(tmp_path: Path, make: object) -> None:
    """Git names the git directory as the place of the checkout; the files are found anyway."""
    assert callable(make)
    checkout = make(tmp_path)
    merged = merge_branch(add_branch(checkout), BRANCH, "main", OSTLER, "x", main_checkout=checkout)
    assert git(checkout, "rev-parse", "HEAD") == merged.commit
    assert (checkout / "mine.txt").exists() and git(checkout, "status", "--porcelain") == ""


def test_a_submodule_is_found_without_the_users_checkout(tmp_path: Path) -> None:
    checkout = make_submodule(tmp_path)
    merge_branch(add_branch(checkout), BRANCH, "main", OSTLER, "x")
    assert (checkout / "mine.txt").exists()


def test_the_branch_of_a_bare_repository_is_not_checked_out(tmp_path: Path) -> None:
    commit_in(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", str(tmp_path / "source"), "bare.git")
    merged = merge_branch(add_branch(tmp_path / "bare.git"), BRANCH, "main", OSTLER, "x")
    assert git(tmp_path / "bare.git", "rev-parse", "main") == merged.commit


def test_an_unknown_checkout_needs_a_person(tmp_path: Path) -> None:
    """The files cannot be found, so nothing changes."""
    checkout = make_separate(tmp_path)
    head = git(checkout, "rev-parse", "HEAD")
    with pytest.raises(CheckedOutTarget, match="git cannot use it"):
        merge_branch(add_branch(checkout), BRANCH, "main", OSTLER, "x")
    assert git(checkout, "rev-parse", "HEAD") == head


def test_the_command_is_valid_shell() -> None:
    """A path may contain an apostrophe."""
    refused = CheckedOutTarget("main", "/it's here", BRANCH, "x")
    assert shlex.split(refused.command) == [
        "git",
        "-C",
        "/it's here",
        "merge",
        "--no-overwrite-ignore",
        BRANCH,
    ]


def test_a_submodule_is_merged_by_a_run(world: World, tmp_path: Path) -> None:
    """The task of a project in a submodule completes."""
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-qb", "main", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(world.root), "sub")
    world.root = outer / "sub"
    task = world.new()
    world.ostler("run", task, OSTLER_GIT__ON_COMPLETE="merge")
    assert world.show(task)["status"] == "completed"
    assert (world.root / "fake-agent.txt").exists()


@pytest.mark.full
def test_a_failed_merge_leaves_the_task_completed(world: World) -> None:
    """The task is completed as before, and the same command merges it later."""
    task = world.new()
    world.ostler("run", task)
    before = world.show(task)
    world.git("tag", "v1")
    failed = world.ostler("merge", task, code=1, OSTLER_GIT__TARGET="v1")
    assert "failed" in failed.stdout
    after = world.show(task)
    assert [after[key] for key in ("status", "code", "commit")] == ["completed", None, before["commit"]]
    assert after["message"].startswith("the request to publish it failed: PUBLISH_FAILED")
    world.ostler("merge", task)
    assert world.git("rev-parse", "main").strip() == before["commit"]
