"""Merging a finished task into a local branch: the user's checkout stays byte for byte, in any state."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import BRANCH, git, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER
from ostler.git.merge import MergeConflict
from ostler.git.publish import Published, Result, publish_merge
from ostler.git.repository import Worktree
from publish_world import PublishWorld


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    made = PublishWorld(tmp_path)
    git(made.project, "branch", "integration")
    return made


def merge(worktree: Worktree, target: str = "integration") -> Published:
    return publish_merge(worktree, target, OSTLER, f"Merge {worktree.branch}")


def without(state: dict[str, bytes], branch: str) -> dict[str, bytes]:
    lines = [line for line in state["refs"].split(b"\n") if f"/{branch} ".encode() not in line]
    return state | {"refs": b"\n".join(lines)}


def make_clean(world: PublishWorld) -> None:
    pass


def make_dirty(world: PublishWorld) -> None:
    (world.project / "a.txt").write_text("changed\n")
    (world.project / "sub/b.txt").write_text("staged\n")
    git(world.project, "add", "sub/b.txt")
    (world.project / "mine.txt").write_text("untracked, and called as the task's file\n")


def make_detached(world: PublishWorld) -> None:
    git(world.project, "checkout", "-q", "--detach")


def make_stashed(world: PublishWorld) -> None:
    (world.project / "a.txt").write_text("changed\n")
    git(world.project, "stash", "-q")


def make_conflicted(world: PublishWorld) -> None:
    git(world.project, "switch", "-qc", "side", "HEAD")
    world.commit({"a.txt": "side\n"})
    git(world.project, "switch", "-q", "main")
    world.commit({"a.txt": "main\n"})
    git(world.project, "merge", "-q", "side", check=False)


@pytest.mark.parametrize("make", [make_clean, make_dirty, make_detached, make_stashed, make_conflicted])
def test_the_users_checkout_stays(world: PublishWorld, make):
    """Clean, dirty, detached, with a stash, amid a conflict: only the target moves, and only here."""
    worktree = world.work({"mine.txt": "mine"})
    make(world)
    before, there = without(snapshot_of(world.project), "integration"), git(world.bare, "for-each-ref")
    published = merge(worktree)
    assert (published.result, published.commit) == (
        Result.MERGED,
        git(world.project, "rev-parse", "integration"),
    )
    assert "nothing was pushed" in published.notes[0]
    assert without(snapshot_of(world.project), "integration") == before
    assert git(world.bare, "for-each-ref") == there
    assert git(world.project, "show", "integration:mine.txt") == "mine"


def test_the_usual_target_is_checked_out(world: PublishWorld):
    """The user is on main: nothing moves, the one command is told, and it then works."""
    worktree = world.work({"mine.txt": "mine"})
    before = snapshot_of(world.project)
    with pytest.raises(GitError, match="main is checked out") as caught:
        merge(worktree, "main")
    assert caught.value.code is Code.PUBLISH_FAILED
    assert snapshot_of(world.project) == before
    git(world.project, "merge", "-q", BRANCH)
    assert merge(worktree, "main").adopted


def test_twice_is_once(world: PublishWorld):
    """Merged again it says merged, not that there was nothing."""
    worktree = world.work({"mine.txt": "mine"})
    first = merge(worktree)
    again = merge(worktree)
    assert (again.result, again.commit, again.adopted) == (Result.MERGED, first.commit, True)


def test_a_target_that_moved(world: PublishWorld):
    """The branch is carried onto it, and the target's history is one line."""
    worktree = world.work({"mine.txt": "mine"})
    theirs = world.commit({"theirs.txt": "theirs"})
    git(world.project, "branch", "-f", "integration", theirs)
    published = merge(worktree)
    assert published.base == theirs
    assert git(world.project, "rev-list", "--count", "--merges", "integration") == "0"
    assert git(world.project, "rev-parse", BRANCH) == published.commit


def test_a_conflict(world: PublishWorld):
    """MERGE_CONFLICT names the file; branch, target and worktree stay."""
    worktree = world.work({"a.txt": "mine\n"})
    kept = git(world.project, "rev-parse", BRANCH)
    git(world.project, "branch", "-f", "integration", world.commit({"a.txt": "theirs\n"}))
    before = snapshot_of(world.project)
    with pytest.raises(MergeConflict) as caught:
        merge(worktree)
    assert caught.value.files == ("a.txt",)
    assert git(world.project, "rev-parse", BRANCH) == kept
    assert snapshot_of(world.project) == before
    assert git(worktree.path, "status", "--porcelain") == ""


def test_nothing_to_merge(world: PublishWorld):
    """A task that changed no file."""
    before = git(world.project, "rev-parse", "integration")
    assert merge(world.work({})).result is Result.NOTHING
    assert git(world.project, "rev-parse", "integration") == before


def test_a_task_without_a_target(world: PublishWorld):
    """It started from a commit that no branch led to: said, with the setting to set."""
    with pytest.raises(GitError, match="did not start from a branch") as caught:
        merge(world.work({"mine.txt": "mine"}), "")
    assert "git.target" in caught.value.hint


def test_a_branch_that_is_gone(world: PublishWorld):
    """Somebody deleted it: a code and a sentence, and the target stays."""
    worktree = world.work({"mine.txt": "mine"})
    before = git(world.project, "rev-parse", "integration")
    git(world.project, "update-ref", "-d", f"refs/heads/{BRANCH}")
    with pytest.raises(GitError, match="is gone") as caught:
        merge(worktree)
    assert caught.value.code is Code.WORKTREE_LOST
    assert git(world.project, "rev-parse", "integration") == before
