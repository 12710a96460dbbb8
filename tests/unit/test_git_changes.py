"""The changes of a task so far, by file name."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world
from ostler.git.commit.diff import list_changes, list_commits
from ostler.model.change import FileChange


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def test_files_are_listed_with_their_lines(world: World) -> None:
    """Committed, uncommitted, deleted and binary files; names are literal; Ostler's state is not a change."""
    worktree = world.prepare()
    (worktree.path / "committed.txt").write_text("1\n2\n")
    commit_step(worktree)
    (worktree.path / "a.txt").unlink()
    (worktree.path / "two\nlines\t").write_text("x\n")
    (worktree.path / "logo.png").write_bytes(b"\0\1")
    (worktree.path / ".ostler").mkdir()
    (worktree.path / ".ostler" / "state.yaml").write_text("status: x\n")
    found = {change.path: change for change in list_changes(worktree)}
    assert found.keys() == {"committed.txt", "a.txt", "two\nlines\t", "logo.png"}
    assert found["committed.txt"] == FileChange("committed.txt", 2, 0)
    assert found["logo.png"] == FileChange("logo.png")
    assert found["a.txt"].insertions == 0 and found["a.txt"].deletions


def test_nothing_changed(world: World) -> None:
    """A new worktree has neither changes nor commits."""
    worktree = world.prepare()
    assert list_changes(worktree) == () and list_commits(worktree, 5) == ()


def test_commits_are_listed_newest_first(world: World) -> None:
    """Ostler's and the agent's commits, on the branch or not, up to the limit and without the base."""
    worktree = world.prepare()
    for number in (1, 2):
        git(worktree.path, "commit", "-q", "--allow-empty", "-m", f"step {number}\n\nbody")
    git(worktree.path, "switch", "-q", "--detach")
    git(worktree.path, "commit", "-q", "--allow-empty", "-m", "beside")
    subjects = [commit.split(" ", 1)[1] for commit in list_commits(worktree, 5)]
    assert subjects == ["beside", "step 2", "step 1"]
    assert len(list_commits(worktree, 2)) == 2
