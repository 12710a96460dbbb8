"""Merging a finished task into a local branch: the user's checkout is unchanged in any state."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import BRANCH, git, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER
from ostler.git.publish.merge import MergeConflict
from ostler.git.publish.publish import PublishOptions, PublishOutcome, PublishResult, publish_merge
from ostler.git.repository import Worktree
from publish_world import PublishWorld


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    made = PublishWorld(tmp_path)
    git(made.project, "branch", "integration")
    return made


def merge(worktree: Worktree, target: str = "integration") -> PublishOutcome:
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
    """Clean, dirty, detached, with a stash, during a conflict: only the local target moves."""
    worktree = world.work({"mine.txt": "mine"})
    make(world)
    before, there = without(snapshot_of(world.project), "integration"), git(world.bare, "for-each-ref")
    published = merge(worktree)
    assert (published.result, published.commit) == (
        PublishResult.MERGED,
        git(world.project, "rev-parse", "integration"),
    )
    assert "nothing was pushed" in published.notes[0]
    assert without(snapshot_of(world.project), "integration") == before
    assert git(world.bare, "for-each-ref") == there
    assert git(world.project, "show", "integration:mine.txt") == "mine"


def test_the_usual_target_is_checked_out(world: PublishWorld):
    """The user is on main, with changes: nothing moves, the one command is in the error and works."""
    worktree = world.work({"mine.txt": "mine"})
    (world.project / "a.txt").write_text("changed\n")
    before = snapshot_of(world.project)
    with pytest.raises(GitError, match="main is checked out") as caught:
        merge(worktree, "main")
    assert caught.value.code is Code.PUBLISH_FAILED
    assert snapshot_of(world.project) == before
    git(world.project, "merge", "-q", BRANCH)
    assert merge(worktree, "main").adopted


def test_twice_is_once(world: PublishWorld):
    """Merged again, the result is merged, not nothing to merge."""
    worktree = world.work({"mine.txt": "mine"})
    first = merge(worktree)
    again = merge(worktree)
    assert (again.result, again.commit, again.adopted) == (PublishResult.MERGED, first.commit, True)


def test_a_target_that_moved(world: PublishWorld):
    """The branch is rebased onto it, and the target's history is linear."""
    worktree = world.work({"mine.txt": "mine"})
    theirs = world.commit({"theirs.txt": "theirs"})
    git(world.project, "branch", "-f", "integration", theirs)
    published = merge(worktree)
    assert published.base == theirs
    assert git(world.project, "rev-list", "--count", "--merges", "integration") == "0"
    assert git(world.project, "rev-parse", BRANCH) == published.commit


def test_a_conflict(world: PublishWorld):
    """MERGE_CONFLICT names the file; branch, target and worktree are unchanged."""
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
    assert merge(world.work({})).result is PublishResult.NOTHING
    assert git(world.project, "rev-parse", "integration") == before


def test_a_task_without_a_target(world: PublishWorld):
    """It started from a commit without a branch: the error names the setting."""
    with pytest.raises(GitError, match="did not start from a branch") as caught:
        merge(world.work({"mine.txt": "mine"}), "")
    assert "git.target" in caught.value.hint


def test_a_branch_that_is_gone(world: PublishWorld):
    """The branch was deleted: a code and a sentence, and the target is unchanged."""
    worktree = world.work({"mine.txt": "mine"})
    before = git(world.project, "rev-parse", "integration")
    git(world.project, "update-ref", "-d", f"refs/heads/{BRANCH}")
    with pytest.raises(GitError, match="does not exist") as caught:
        merge(worktree)
    assert caught.value.code is Code.WORKTREE_LOST
    assert git(world.project, "rev-parse", "integration") == before


def judged(world: PublishWorld) -> PublishOptions:
    """Return the terms for a branch whose current commit the gates have checked."""
    return PublishOptions(approved_commit=git(world.project, "rev-parse", BRANCH))


def move(world: PublishWorld, name: str = "theirs.txt") -> str:
    """Commit to the target, which is not checked out."""
    blob = git(world.project, "hash-object", "-w", "--stdin", stdin=name.encode())
    entries = git(world.project, "ls-tree", "integration") + f"\n100644 blob {blob}\t{name}\n"
    made = git(world.project, "mktree", stdin=entries.encode())
    identity = ("-c", "user.name=t", "-c", "user.email=t@x")
    old = git(world.project, "rev-parse", "integration")
    new = git(world.project, *identity, "commit-tree", made, "-p", old, "-m", "theirs")
    git(world.project, "update-ref", "refs/heads/integration", new, old)
    return new


def test_what_the_gates_have_not_seen_is_not_merged(world: PublishWorld):
    """Rebased onto the target it is another commit: it is returned, and merged after the gates checked it."""
    worktree = world.work({"mine.txt": "mine"})
    terms, onto = judged(world), move(world)
    rebased = publish_merge(worktree, "integration", OSTLER, "x", terms)
    assert (rebased.result, rebased.base, rebased.clean) == (PublishResult.REBASED, onto, True)
    assert git(world.project, "rev-parse", "integration") == onto
    merged = publish_merge(worktree, "integration", OSTLER, "x", judged(world))
    assert (merged.result, git(world.project, "rev-parse", "integration")) == (
        PublishResult.MERGED,
        rebased.commit,
    )


def test_a_rebase_that_was_not_written_down_is_reported_again(world: PublishWorld):
    """The run was killed after the branch had moved: it is still only a rebase of the checked commit."""
    worktree = world.work({"mine.txt": "mine"})
    terms, _ = judged(world), move(world)
    first = publish_merge(worktree, "integration", OSTLER, "x", terms)
    assert publish_merge(worktree, "integration", OSTLER, "x", terms) == first


def test_more_than_a_rebase_is_reported(world: PublishWorld):
    """A commit was added to the branch, with or without a moved target."""
    worktree = world.work({"mine.txt": "mine"})
    terms = judged(world)
    world.work({"more.txt": "more"}, "t/2")
    assert publish_merge(worktree, "integration", OSTLER, "x", terms).clean is False
    move(world)
    assert publish_merge(worktree, "integration", OSTLER, "x", terms).clean is False


def test_a_target_that_moves_at_the_last_moment(world: PublishWorld, monkeypatch: pytest.MonkeyPatch):
    """A move between the read and the merge: no unchecked commit is created."""
    worktree, moved = world.work({"mine.txt": "mine"}), list[str]()

    def reach(place: str) -> None:
        if place == "publish.rebased" and not moved:
            moved.append(move(world))

    monkeypatch.setattr("ostler.git.publish.publish.reach", reach)
    done = publish_merge(worktree, "integration", OSTLER, "x", judged(world))
    assert (done.result, done.base) == (PublishResult.REBASED, moved[0])
    assert git(world.project, "rev-parse", "integration") == moved[0]
