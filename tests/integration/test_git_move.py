"""The commits of a task move between two clones through a hidden ref of their remote."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from msgspec import structs

from git_world import TASK, World, git, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.move import task_ref
from ostler.git.move.task_ref import (
    TaskRef,
    delete_remote_refs,
    fetch_commit,
    find_task_ref,
    push_commit,
    read_known_commit,
    read_remote_commit,
)
from ostler.git.refs import has_commit
from ostler.git.repository import Repository
from ostler.waits import Wait
from publish_world import PublishWorld

NAME = f"refs/ostler/tasks/{TASK}"


class TwoHosts(PublishWorld):
    """A project, its remote, and a second clone on another machine."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.other = World.__new__(World)
        self.other.root, self.other.project = root, root / "other"
        git(root, "clone", "-q", str(self.bare), str(self.other.project))
        for name in ("name", "email"):
            git(self.other.project, "config", f"user.{name}", "una@example.org")

    @property
    def here(self) -> TaskRef:
        return self.ref(self.repository)

    @property
    def there_too(self) -> TaskRef:
        return self.ref(self.other.repository)

    def ref(self, repository: Repository) -> TaskRef:
        return find_task_ref(repository, "origin", TASK, outage_seconds=0.0)

    @property
    def remote_commit(self) -> str:
        return git(self.bare, "rev-parse", "-q", "--verify", NAME, check=False)


@pytest.fixture
def world(tmp_path: Path) -> TwoHosts:
    return TwoHosts(tmp_path)


def yes() -> bool:
    return True


def no() -> bool:
    return False


def write_commit(world: World, text: str, parent: str = "HEAD") -> str:
    """Return a new commit that no branch has."""
    blob = git(world.project, "hash-object", "-w", "--stdin", stdin=text.encode())
    tree = git(world.project, "mktree", stdin=f"100644 blob {blob}\twork.txt\n".encode())
    return git(world.project, "commit-tree", tree, "-p", parent, "-m", text)


def test_the_other_machine_gets_the_commit(world: TwoHosts):
    """The commit arrives with its files; no branch, index or file of either checkout changes."""
    commit, before = (
        write_commit(world, "one"),
        (snapshot_of(world.project), snapshot_of(world.other.project)),
    )
    assert push_commit(world.here, commit, no)
    assert not has_commit(world.other.repository, commit)
    assert fetch_commit(world.there_too) == commit
    assert git(world.other.project, "show", f"{commit}:work.txt") == "one"
    assert (snapshot_of(world.project), snapshot_of(world.other.project)) == before


@pytest.mark.parametrize("broken", [False, True])
def test_only_what_the_clone_lacks_is_transferred(world: TwoHosts, broken: bool):
    """Also when the base of the task is newer than the clone; a broken ref costs a transfer, no error."""
    world.commit({f"{number}.txt": f"{number}" for number in range(150)})
    git(world.project, "push", "-q", "origin", "main")
    git(world.other.project, "pull", "-q", "origin", "main")
    world.commit({"new.txt": "newer than the other clone"})
    if broken:
        (world.other.project / ".git/refs/heads/broken").write_text(f"{'1' * 40}\n")

    def count_objects() -> int:
        lines = git(world.other.project, "count-objects", "-v").splitlines()
        counts = dict(line.split(": ") for line in lines)
        return int(counts["count"]) + int(counts["in-pack"])

    commit, before = write_commit(world, "one"), count_objects()
    push_commit(world.here, commit, no)
    assert fetch_commit(world.there_too) == commit
    assert broken or count_objects() - before <= 6


def test_a_clone_does_not_get_the_ref(world: TwoHosts):
    """The ref is neither a branch nor a tag."""
    push_commit(world.here, write_commit(world, "one"), no)
    git(world.root, "clone", "-q", str(world.bare), str(world.root / "third"))
    assert "ostler" not in git(world.root / "third", "for-each-ref")
    assert "ostler" not in git(world.bare, "branch", "--all")


def test_the_same_commit_is_not_pushed_again(world: TwoHosts):
    """No command reaches the remote, so it may be gone."""
    commit = write_commit(world, "one")
    push_commit(world.here, commit, no)
    world.bare.rename(world.root / "gone")
    assert not push_commit(world.here, commit, no)


def test_a_machine_that_lost_the_task_is_refused(world: TwoHosts):
    """The remote keeps the commit of the machine that has the task."""
    first = write_commit(world, "one")
    push_commit(world.here, first, no)
    fetch_commit(world.there_too)
    second = write_commit(world.other, "two", first)
    assert push_commit(world.there_too, second, no)
    with pytest.raises(GitError, match="took over") as caught:
        push_commit(world.here, write_commit(world, "late", first), no)
    assert caught.value.code is Code.PUSH_REJECTED
    assert world.remote_commit == second


def test_the_machine_that_has_the_task_replaces_a_late_push(world: TwoHosts):
    """A push of the machine before it does not stop the new one."""
    first = write_commit(world, "one")
    push_commit(world.here, first, no)
    fetch_commit(world.there_too)
    push_commit(world.here, write_commit(world, "late", first), no)
    second = write_commit(world.other, "two", first)
    push_commit(world.there_too, second, yes)
    assert world.remote_commit == second == read_known_commit(world.there_too)


def test_a_machine_that_loses_the_task_while_it_pushes_is_refused(world: TwoHosts):
    """It had the task when it was asked, and another machine pushed before the second attempt."""
    first, theirs = write_commit(world, "one"), []
    push_commit(world.here, first, no)
    fetch_commit(world.there_too)
    push_commit(world.there_too, write_commit(world.other, "two", first), no)

    def taken_over() -> bool:
        theirs.append(write_commit(world.other, f"three {len(theirs)}", first))
        push_commit(world.there_too, theirs[-1], no)
        return True

    with pytest.raises(GitError, match="took over"):
        push_commit(world.here, write_commit(world, "late", first), taken_over)
    assert world.remote_commit == theirs[-1]


def test_a_push_whose_answer_was_lost(world: TwoHosts):
    """The remote has the commit already: that is no other machine."""
    commit = write_commit(world, "one")
    push_commit(world.here, commit, no)
    git(world.project, "update-ref", "-d", world.here.known)
    assert push_commit(world.here, commit, no)
    assert read_known_commit(world.here) == commit


def test_hooks_of_the_clone_do_not_run(world: TwoHosts):
    """An agent can write them."""
    canary = world.root / "canary"
    for name in ("pre-push", "reference-transaction", "post-checkout"):
        hook = world.project / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f'#!/bin/sh\n: > "{canary}"\n')
        hook.chmod(0o755)
    push_commit(world.here, write_commit(world, "one"), no)
    fetch_commit(world.here)
    delete_remote_refs(world.here)
    assert not canary.exists()


def test_a_deleted_ref_is_gone(world: TwoHosts):
    """On the remote and here; the second time nothing happens."""
    push_commit(world.here, write_commit(world, "one"), no)
    for _ in range(2):
        delete_remote_refs(world.here)
        assert (world.remote_commit, read_known_commit(world.here), fetch_commit(world.here)) == ("", "", "")


def test_an_outage_is_waited_for(
    world: TwoHosts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The push succeeds when the remote is back, and the wait was reported."""
    monkeypatch.setattr(task_ref, "_RETRY_SECONDS", 0.0)
    monkeypatch.setattr("ostler.waits.REPORT_AFTER_SECONDS", 0.0)
    ref, gone, pauses = structs.replace(world.here, outage_seconds=60.0), world.root / "gone", []
    world.bare.rename(gone)

    class ShortOutage(Wait):
        def pause(self) -> bool:
            pauses.append(self)
            if len(pauses) == 2:
                gone.rename(world.bare)
            return super().pause()

    monkeypatch.setattr(task_ref, "Wait", ShortOutage)
    commit = write_commit(world, "one")
    assert push_commit(ref, commit, no)
    assert world.remote_commit == commit
    assert any("waiting for the git remote origin" in line for line in caplog.messages)


def test_a_long_outage_has_its_own_code(world: TwoHosts):
    """The machine ends its run; no task fails because of it."""
    ref = world.here
    world.bare.rename(world.root / "gone")
    for use in (lambda: push_commit(ref, write_commit(world, "one"), no), lambda: read_remote_commit(ref)):
        with pytest.raises(GitError) as caught:
            use()
        assert caught.value.code is Code.REMOTE_UNREACHABLE


def test_a_remote_that_does_not_exist(world: TwoHosts):
    """The setting is named."""
    with pytest.raises(GitError, match="none of this name") as caught:
        find_task_ref(world.repository, "elsewhere", TASK)
    assert caught.value.code is Code.CONFIG_INVALID


def test_a_silent_remote_is_not_asked_again_and_again(world: TwoHosts):
    """A command that had no answer for longer than an outage is waited for is not repeated."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        git(world.project, "remote", "set-url", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/x")
        ref = structs.replace(world.here, outage_seconds=0.5, timeout_seconds=1.0)
        with pytest.raises(GitError, match="did not answer within 1 s") as caught:
            read_remote_commit(ref)
        server.settimeout(0.1)
        server.accept()[0].close()
        with pytest.raises(TimeoutError):
            server.accept()
    assert caught.value.code is Code.REMOTE_UNREACHABLE


def test_the_list_of_a_silent_remote_is_given_up_early(world: TwoHosts, monkeypatch: pytest.MonkeyPatch):
    """Only what transfers commits may take long."""
    monkeypatch.setattr(task_ref, "_LIST_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        git(world.project, "remote", "set-url", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/x")
        with pytest.raises(GitError, match=r"did not answer within 0.3 s"):
            read_remote_commit(world.here)
