"""For any change of HEAD and its branch by an agent, the work ends on the task's branch."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from git_world import BRANCH, World, agent_commits, assert_settled, commit_step, git, make_world, tree
from ostler.errors import GitError


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def test_commits_of_the_agent_are_kept(world: World):
    """The agent's own commits are below Ostler's commit."""
    worktree = world.prepare()
    theirs = agent_commits(world, "own.txt")
    (world.path / "more.txt").write_text("more")
    commit_step(worktree)
    assert git(world.project, "rev-parse", f"{BRANCH}^") == theirs
    assert {"own.txt", "more.txt"} <= tree(world)


def test_head_moved_ahead(world: World):
    """Commits on a detached HEAD become the branch's history."""
    worktree = world.prepare()
    git(world.path, "switch", "-q", "--detach")
    theirs = agent_commits(world, "own.txt")
    commit_step(worktree)
    assert git(world.project, "rev-parse", f"{BRANCH}^") == theirs
    assert_settled(world)


def test_head_on_another_branch_that_went_its_own_way(world: World):
    """Both lines of history are parents, the files are those of the agent, and its branch is unchanged."""
    worktree = world.prepare()
    mine = agent_commits(world, "first.txt")
    git(world.path, "switch", "-qc", "agents-own", worktree.base)
    theirs = agent_commits(world, "second.txt")
    commit_step(worktree)
    assert git(world.project, "rev-parse", f"{BRANCH}^1", f"{BRANCH}^2").split() == [mine, theirs]
    assert "second.txt" in tree(world)
    assert git(world.project, "rev-parse", "agents-own") == theirs
    assert_settled(world)


def test_looking_at_an_older_commit_undoes_nothing(world: World):
    """An agent that ends on a checkout of the base does not revert its work."""
    worktree = world.prepare()
    agent_commits(world, "work.txt")
    git(world.path, "switch", "-q", "--detach", worktree.base)
    commit_step(worktree)
    assert "work.txt" in tree(world)
    assert (world.path / "work.txt").exists()
    assert_settled(world)


def test_an_orphan_branch_is_brought_back(world: World):
    """HEAD is on a branch without commits: the files are committed on the task's branch."""
    worktree = world.prepare()
    git(world.path, "switch", "-q", "--orphan", "nothing")
    (world.path / "only.txt").write_text("x")
    commit_step(worktree)
    assert tree(world) == {"only.txt"}
    assert_settled(world)


def test_a_deleted_branch_is_made_again(world: World):
    """If an agent deletes the branch, the content of files and HEAD is kept."""
    worktree = world.prepare()
    git(world.path, "switch", "-q", "--detach")
    theirs = agent_commits(world, "own.txt")
    git(world.path, "branch", "-qD", BRANCH)
    commit_step(worktree)
    assert git(world.project, "rev-parse", f"{BRANCH}^") == theirs
    assert_settled(world)


def test_a_branch_that_names_the_users_branch_moves_only_itself(world: World):
    """A symbolic ref planted at the task's branch does not move main."""
    worktree = world.prepare()
    main = git(world.project, "rev-parse", "main")
    git(world.path, "symbolic-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    (world.path / "x").write_text("x")
    made = commit_step(worktree)
    assert git(world.project, "rev-parse", "main") == main
    assert git(world.project, "rev-parse", BRANCH) == made.commit
    assert git(world.project, "symbolic-ref", "-q", f"refs/heads/{BRANCH}", check=False) == ""


def test_an_open_conflict_is_committed_unchanged(world: World):
    """Unmerged entries and an unfinished merge do not stop the checkpoint, and are gone after it."""
    worktree = world.prepare()
    (world.path / "a.txt").write_text("ours\n")
    git(world.path, "commit", "-qam", "ours")
    git(world.path, "switch", "-qc", "other", worktree.base)
    (world.path / "a.txt").write_text("theirs\n")
    git(world.path, "commit", "-qam", "theirs")
    git(world.path, "switch", "-q", BRANCH)
    git(world.path, "merge", "-q", "other", check=False)
    assert "UU a.txt" in git(world.path, "status", "--porcelain")
    commit_step(worktree)
    assert "<<<<<<<" in git(world.project, "show", f"{BRANCH}:a.txt")
    assert_settled(world)


def test_a_rebase_left_open_is_ended(world: World):
    """After a stopped rebase the branch has all changes, and no rebase is in progress."""
    worktree = world.prepare()
    agent_commits(world, "one.txt")
    git(
        world.path, "-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-q", "-i", "--root", check=False
    )
    commit_step(worktree)
    assert "one.txt" in tree(world)
    assert "rebase" not in git(world.path, "status")
    assert_settled(world)


def test_a_commit_that_is_made_meanwhile_is_kept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A commit added to the branch between the read and the update stays in the history."""
    worktree = world.prepare()
    (world.path / "more.txt").write_text("more")
    theirs = git(world.project, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "meanwhile")
    real, folder = shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(
        f"#!/bin/sh\n"
        f'[ "$1" = commit-tree ] && {real} update-ref refs/heads/{BRANCH} {theirs}\n'
        f'exec {real} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    with monkeypatch.context() as patch, suppress(GitError):
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        commit_step(worktree)
    assert theirs in git(world.project, "rev-list", BRANCH).splitlines()
