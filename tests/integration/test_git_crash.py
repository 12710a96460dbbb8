"""Kills at any moment, and many tasks in parallel, with real processes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from examples import FULL
from git_world import TASK, World, commit_step, git, make_world, registered, snapshot_of
from ostler.errors import Code, GitError
from ostler.git.refs import find_base
from ostler.git.run import lock
from ostler.git.worktree.worktree import prepare_worktree, remove_worktree

BRANCH = f"ostler/{TASK}"
CHILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from git_world import World, commit_step
world = World.__new__(World)
world.project = Path({project!r})
print("ready", flush=True)
worktree = world.prepare()
(worktree.path / "work.txt").write_text("done")
commit_step(worktree)
"""


def start_child(world: World, **env: str) -> subprocess.Popen[bytes]:
    code = CHILD.format(path=sys.path, project=str(world.project))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | env)
    assert child.stdout and child.stdout.readline() == b"ready\n"
    return child


def kill(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


def finish(world: World) -> None:
    """Do what the next run does; the result is as without the kill."""
    worktree = world.prepare()
    (worktree.path / "work.txt").write_text("done")
    commit_step(worktree)
    assert git(world.project, "rev-list", "--count", f"{worktree.base}..{BRANCH}") == "1"
    assert git(world.project, "show", f"{BRANCH}:work.txt") == "done"
    assert git(world.path, "status", "--porcelain") == ""
    assert len(registered(world.repository)) == 1
    assert remove_worktree(worktree) == 0


def test_killed_at_any_moment_it_ends_the_same(tmp_path: Path):
    """Kills during prepare and checkpoint: one commit each time, and nothing is left over."""
    world = make_world(tmp_path)
    before = snapshot_of(world.project)
    dice = random.Random(7)
    kills = 12 if FULL else 4
    for turn in range(kills):
        child = start_child(world)
        time.sleep(0.12 * (turn + dice.random()) / kills)
        kill(child)
        finish(world)
        git(world.project, "branch", "-qD", BRANCH)
    assert snapshot_of(world.project) == before
    assert git(world.project, "fsck", "--no-dangling", check=False) == ""


def test_a_checkout_that_outlives_its_run_is_waited_for(tmp_path: Path):
    """Killed during the checkout, whose git continues: the next run waits for it."""
    world = make_world(tmp_path)
    slow = slow_git(tmp_path, "reset")
    child = start_child(world, PATH=f"{slow}:{os.environ['PATH']}")
    wait_for(tmp_path / "began")
    kill(child)
    assert not (world.path / "a.txt").exists()
    threading.Timer(0.5, (tmp_path / "go").touch).start()
    started = time.monotonic()
    worktree = world.prepare()
    assert time.monotonic() - started > 0.2
    assert git(worktree.path, "status", "--porcelain") == ""
    finish(world)


def test_many_tasks_at_once(tmp_path: Path):
    """Eight tasks of one repository prepare, commit and end in parallel without a collision."""
    world = make_world(tmp_path)
    repository = world.repository
    base = find_base(repository).commit
    room = world.path.parent

    def one(number: int) -> str:
        name = f"task-{number}"
        worktree = prepare_worktree(repository, room / name, f"ostler/{name}", base, name)
        (worktree.path / name).write_text(name)
        commit = commit_step(worktree, name).commit
        assert remove_worktree(worktree) == 0
        return commit

    with ThreadPoolExecutor(8) as pool:
        commits = list(pool.map(one, range(8)))
    for number, commit in enumerate(commits):
        assert git(world.project, "rev-parse", f"ostler/task-{number}") == commit
        assert git(world.project, "show", f"{commit}:task-{number}") == f"task-{number}"
    assert registered(repository) == []


@pytest.mark.parametrize("moment", ["before the branch", "after the branch"])
def test_a_kill_around_the_commit_makes_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    """Killed just before or after the move of the branch: the result is one commit."""
    from ostler.git.commit import checkpoint as module

    world = make_world(tmp_path)
    worktree = world.prepare()
    (worktree.path / "work.txt").write_text("done")
    real = module.move_branch

    def killed(*args, **more) -> None:
        if moment == "after the branch":
            real(*args, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "move_branch", killed)
    with pytest.raises(KeyboardInterrupt):
        commit_step(worktree)
    monkeypatch.undo()
    finish(world)


def test_the_lock_lasts_as_long_as_the_git_that_moves_the_branch(tmp_path: Path):
    """`git update-ref` continues after the kill: no other run gets the worktree before it ends."""
    world = make_world(tmp_path)
    place = world.prepare().repository.git_dir
    child = start_child(world, PATH=f"{slow_git(tmp_path, 'update-ref')}:{os.environ['PATH']}")
    wait_for(tmp_path / "began")
    kill(child)
    with pytest.raises(GitError) as refused, lock.hold_lock(place, timeout_seconds=0.2):
        pass
    assert refused.value.code is Code.GIT_LOCKED
    (tmp_path / "go").touch()
    finish(world)


def slow_git(folder: Path, command: str) -> Path:
    """A directory with a git whose one command waits for the file `go`, after it created `began`."""
    slow = folder / "slow"
    slow.mkdir()
    body = (
        f'#!/bin/sh\nif [ "$1" = {command} ]; then : > "{folder}/began"\n'
        f'for turn in $(seq 600); do [ -e "{folder}/go" ] && break; sleep 0.05; done; fi\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    (slow / "git").write_text(body)
    (slow / "git").chmod(0o755)
    return slow


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
