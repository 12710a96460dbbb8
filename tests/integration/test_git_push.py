"""A task's branch is pushed once, replaces only its own commits, and a refusal has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from git_world import BRANCH, git, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.identity import OSTLER
from ostler.git.publish import push as module
from ostler.git.publish.push import fetch_commit, push_branch, read_remote_branches, require_task_branch
from ostler.git.publish.rebase import sync_with_target
from publish_world import PublishWorld


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    return PublishWorld(tmp_path)


def tip(world: PublishWorld) -> str:
    return git(world.project, "rev-parse", BRANCH)


def carry_onto_theirs(world: PublishWorld, files: dict[str, str]) -> None:
    """The target moved at the remote; rebase the branch onto it."""
    worktree = world.prepare()
    onto = world.others_push(files)
    fetch_commit(worktree, world.remote, "main", onto)
    assert sync_with_target(worktree, onto, "main", OSTLER).moved


def hook(world: PublishWorld, name: str, body: str) -> None:
    path = world.bare / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_a_new_branch(world: PublishWorld):
    """The remote has the same commit, and no branch or tracking branch of the user moved."""
    worktree = world.work({"mine.txt": "mine"})
    before = snapshot_of(world.project)
    pushed = push_branch(worktree, world.remote, "main")
    assert world.there() == tip(world) == pushed.commit
    assert snapshot_of(world.project) == before


def test_twice_is_once(world: PublishWorld):
    """The second push finds it there and sends nothing."""
    worktree = world.work({"mine.txt": "mine"})
    push_branch(worktree, world.remote, "main")
    hook(world, "pre-receive", "exit 1")
    assert push_branch(worktree, world.remote, "main").adopted


def test_more_work_is_a_plain_push(world: PublishWorld):
    """A commit on top of what was pushed needs no force."""
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    git(world.bare, "config", "receive.denyNonFastForwards", "true")
    pushed = push_branch(world.work({"more.txt": "more"}, "t/2"), world.remote, "main")
    assert (world.there(), pushed.forced) == (tip(world), False)


def test_what_was_pushed_and_then_rebased_is_replaced(world: PublishWorld):
    """Older commits of Ostler are replaced, with a lease on exactly those."""
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    carry_onto_theirs(world, {"theirs.txt": "theirs"})
    pushed = push_branch(world.prepare(), world.remote, "main")
    assert (world.there(), pushed.forced) == (tip(world), True)


def test_a_push_address_of_its_own(world: PublishWorld):
    """With separate push and fetch addresses, the pushed branch is read from the push address."""
    fork = world.root / "fork.git"
    git(world.root, "clone", "-q", "--bare", str(world.bare), str(fork))
    git(world.project, "config", "remote.origin.pushurl", str(fork))
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    carry_onto_theirs(world, {"theirs.txt": "theirs"})
    assert push_branch(world.prepare(), world.remote, "main").forced
    assert (git(fork, "rev-parse", BRANCH), world.there()) == (tip(world), "")


def test_anybody_elses_commits_are_not_replaced(world: PublishWorld):
    """A colleague pushed to the branch, and then it was rebased here: refused, and their commit is kept."""
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    theirs = world.others_push({"fix.txt": "fix"}, BRANCH)
    carry_onto_theirs(world, {"theirs.txt": "theirs"})
    kept = tip(world)
    with pytest.raises(GitError, match="commits of others") as caught:
        push_branch(world.prepare(), world.remote, "main")
    assert caught.value.code is Code.PUSH_REJECTED
    assert (world.there(), tip(world)) == (theirs, kept)


def test_commits_on_top_of_ours_stay(world: PublishWorld):
    """A colleague added to the branch: it has all commits, nothing is pushed, and this is reported."""
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    theirs = world.others_push({"fix.txt": "fix"}, BRANCH)
    pushed = push_branch(world.prepare(), world.remote, "main")
    assert (world.there(), pushed.adopted) == (theirs, True)
    assert "additional commits" in pushed.note


def test_outrun_once_it_looks_again(world: PublishWorld, monkeypatch: pytest.MonkeyPatch):
    """The remote's branch appears between the read and the push: the second read decides."""
    worktree = world.work({"mine.txt": "mine"})
    real, looks = module.read_remote_branches, []

    def stale(*args, **more) -> dict[str, str]:
        looks.append(1)
        if len(looks) > 1:
            return real(*args, **more)
        git(world.bare, "update-ref", f"refs/heads/{BRANCH}", "main")
        world.others_push({"fix.txt": "fix"}, BRANCH)
        return {}

    monkeypatch.setattr(module, "read_remote_branches", stale)
    with pytest.raises(GitError, match="commits of others"):
        push_branch(worktree, world.remote, "main")
    assert len(looks) == 2


def test_outrun_for_ever_it_gives_up(world: PublishWorld, monkeypatch: pytest.MonkeyPatch):
    """Refused as outdated twice: PUSH_REJECTED, and the work is kept."""
    worktree = world.work({"mine.txt": "mine"})
    git(world.bare, "update-ref", f"refs/heads/{BRANCH}", "main")
    world.others_push({"fix.txt": "fix"}, BRANCH)
    monkeypatch.setattr(module, "read_remote_branches", lambda *_: {})
    with pytest.raises(GitError, match=r"fetch first|non-fast-forward") as caught:
        push_branch(worktree, world.remote, "main")
    assert caught.value.code is Code.PUSH_REJECTED
    assert git(world.project, "show", f"{BRANCH}:mine.txt") == "mine"


def test_a_protected_branch(world: PublishWorld):
    """The sentence has the remote's message."""
    worktree = world.work({"mine.txt": "mine"})
    hook(world, "pre-receive", "echo 'error: GH006: Protected branch update failed' >&2; exit 1")
    with pytest.raises(GitError, match="GH006: Protected branch update failed") as caught:
        push_branch(worktree, world.remote, "main")
    assert caught.value.code is Code.PUSH_REJECTED
    assert caught.value.hint
    assert world.there() == ""


def test_a_remote_that_is_gone(world: PublishWorld):
    """PUBLISH_FAILED with this reason, and the command that shows the address."""
    worktree = world.work({"mine.txt": "mine"})
    world.bare.rename(world.root / "moved.git")
    with pytest.raises(GitError, match="does not exist") as caught:
        push_branch(worktree, world.remote, "main")
    assert (caught.value.code, caught.value.hint) == (Code.PUBLISH_FAILED, "check its URL with git remote -v")


@pytest.mark.parametrize(
    "branch",
    ["main", "master", "develop", "release", "Main", "release/2.0", "release-2", "RELEASE/x", "trunk"],
)
def test_shared_branches_are_never_pushed_to(branch: str):
    """C120: neither the well-known names nor the target, with any name."""
    with pytest.raises(GitError) as caught:
        require_task_branch(branch, "trunk")
    assert caught.value.code is Code.PUSH_REJECTED


@pytest.mark.parametrize("branch", ["ostler/main", "ostler/fix", "released", "maintenance", "my/release/x"])
def test_a_tasks_own_branch_may_be_pushed(branch: str):
    """Names that only resemble those are allowed for a task."""
    require_task_branch(branch, "main")


def test_similar_branch_names_are_distinguished(world: PublishWorld):
    """ls-remote matches the end of names; only the exact one counts."""
    worktree = world.work({"mine.txt": "mine"})
    git(world.bare, "update-ref", "refs/heads/x/refs/heads/other", "main")
    assert read_remote_branches(worktree, world.remote, "main", "other") == {"main": world.there("main")}


def test_only_what_is_new_is_fetched(world: PublishWorld):
    """With a common history a fetch gets only the new commit, not everything as one pack."""
    world.commit({f"{number}.txt": f"{number}\n" for number in range(120)})  # git unpacks up to a hundred
    git(world.project, "push", "-q", "origin", "main")
    worktree = world.work({"mine.txt": "mine"})
    onto = world.others_push({"theirs.txt": "theirs"})
    fetch_commit(worktree, world.remote, "main", onto)
    assert git(world.project, "cat-file", "-t", onto) == "commit"
    assert list((world.project / ".git/objects/pack").glob("*.pack")) == []


def test_the_lease_is_on_what_was_seen(world: PublishWorld, monkeypatch: pytest.MonkeyPatch):
    """A colleague pushes between the read and the forced push: their commit is kept."""
    push_branch(world.work({"mine.txt": "mine"}), world.remote, "main")
    carry_onto_theirs(world, {"theirs.txt": "theirs"})
    real, theirs = module._push_commit, []

    def outrun(*args, **more) -> module.PushResult:
        if not theirs:
            theirs.append(world.others_push({"fix.txt": "fix"}, BRANCH))
        return real(*args, **more)

    monkeypatch.setattr(module, "_push_commit", outrun)
    with pytest.raises(GitError, match="commits of others"):
        push_branch(world.prepare(), world.remote, "main")
    assert [world.there()] == theirs


@pytest.mark.parametrize("branch", ["main", "release/1.0"])
def test_a_push_to_a_shared_branch_is_refused(world: PublishWorld, branch: str):
    """Nothing is pushed, for any recorded branch of the worktree."""
    worktree = structs.replace(world.work({"mine.txt": "mine"}), branch=branch)
    git(world.project, "branch", "-f", "release/1.0", BRANCH)
    before = git(world.bare, "for-each-ref")
    with pytest.raises(GitError, match="shared branch"):
        push_branch(worktree, world.remote, "other")
    assert git(world.bare, "for-each-ref") == before


def test_large_files_that_the_remote_has_not(world: PublishWorld):
    """GitHub names the missing LFS objects: the error has the command that sends them."""
    worktree = world.work({"mine.txt": "mine"})
    hook(
        world, "pre-receive", "echo 'error: GH008: Your push referenced unknown Git LFS objects' >&2; exit 1"
    )
    with pytest.raises(GitError, match="LFS") as caught:
        push_branch(worktree, world.remote, "main")
    assert caught.value.hint == f"run git lfs push origin {BRANCH}"
