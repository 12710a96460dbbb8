from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world
from ostler.errors import Code, GitError
from ostler.git.run import lock
from ostler.git.run.command import run_git

LONG_AGO = 60.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def leave_lock(path: Path, age: float = 0.0) -> Path:
    path.write_bytes(b"")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_an_old_lock_without_an_owner_is_removed(world: World, caplog: pytest.LogCaptureFixture):
    """The lock file of a killed git is removed once, and the removal is logged."""
    left = leave_lock(world.project / ".git" / "index.lock", LONG_AGO)
    started = time.monotonic()
    run_git(world.repository, "read-tree", "HEAD")
    assert not left.exists()
    assert time.monotonic() - started < 5
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_fresh_lock_is_waited_for(world: World):
    """Another git that ends within seconds causes a wait, not an error."""
    held = leave_lock(world.project / ".git" / "index.lock")
    threading.Timer(0.3, held.unlink).start()
    run_git(world.repository, "read-tree", "HEAD")


def test_a_lock_that_stays_is_git_locked(world: World, monkeypatch: pytest.MonkeyPatch):
    """A recent lock is never removed, after any wait."""
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.3)
    held = leave_lock(world.project / ".git" / "index.lock")
    with pytest.raises(GitError) as caught:
        run_git(world.repository, "read-tree", "HEAD")
    assert caught.value.code is Code.GIT_LOCKED
    assert held.exists()


def test_an_old_lock_with_a_live_owner_stays(world: World, monkeypatch: pytest.MonkeyPatch):
    """Age alone is not enough: a git that still runs in this tree keeps its lock."""
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.3)
    held = leave_lock(world.project / ".git" / "index.lock", LONG_AGO)
    command = ["git", "-C", str(world.project), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as owner:
        with pytest.raises(GitError) as caught:
            run_git(world.repository, "read-tree", "HEAD")
        owner.stdin.close() if owner.stdin else None
    assert caught.value.code is Code.GIT_LOCKED
    assert held.exists()


def test_only_locks_of_the_repository_are_removed(world: World, tmp_path: Path):
    """A message from git cannot cause the deletion of a file elsewhere."""
    outside = leave_lock(tmp_path / "outside.lock", LONG_AGO)
    assert not lock.remove_if_stale(outside, world.repository)
    sneaky = world.project / ".git" / ".." / ".." / "outside.lock"
    assert not lock.remove_if_stale(sneaky, world.repository)
    assert outside.exists()


def test_a_killed_agents_lock_does_not_stop_a_checkpoint(world: World):
    """The index.lock of a git that ended with its agent is gone after the next checkpoint."""
    worktree = world.prepare()
    (worktree.path / "x").write_text("x")
    left = leave_lock(worktree.repository.git_dir / "index.lock", 2.0)
    commit_step(worktree)
    assert not left.exists()
    assert git(worktree.path, "status", "--porcelain") == ""


def test_hold_is_exclusive_and_leaves_nothing(tmp_path: Path):
    """A second run waits, and fails with one sentence; no file is written for it."""
    with (
        lock.hold_lock(tmp_path),
        pytest.raises(GitError) as caught,
        lock.hold_lock(tmp_path, timeout_seconds=0.05),
    ):
        pass
    assert caught.value.code is Code.GIT_LOCKED
    with lock.hold_lock(tmp_path, timeout_seconds=0.05):
        assert os.listdir(tmp_path) == []


def test_another_task_of_the_process_gets_the_lock_without_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Many tasks of one run need the lock of the repository for their worktrees."""
    sleeps: list[float] = []
    monkeypatch.setattr(time, "sleep", sleeps.append)

    def take() -> None:
        with lock.hold_lock(tmp_path):
            pass

    with ThreadPoolExecutor(1) as threads:
        with lock.hold_lock(tmp_path):
            taken = threads.submit(take)
            with pytest.raises(TimeoutError):
                taken.result(timeout=0.2)
        taken.result(timeout=10)
    assert sleeps == []


def test_a_child_that_inherits_the_lock_keeps_it(tmp_path: Path):
    """If Ostler is killed, the git that it started keeps the lock until it ends."""
    with lock.hold_lock(tmp_path) as descriptor:
        script = "import sys; sys.stdin.read()"
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, pass_fds=(descriptor,)
        )
    with pytest.raises(GitError), lock.hold_lock(tmp_path, timeout_seconds=0.05):
        pass
    child.communicate(b"")
    with lock.hold_lock(tmp_path, timeout_seconds=5):
        pass
