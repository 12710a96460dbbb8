"""A gate that is stopped or killed leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

import gate_world
from gate_world import GateWorld
from git_world import git
from ostler.config.settings import GitSettings
from ostler.engine.core.step import ReleaseWorkspace
from ostler.engine.steps.perform import perform
from ostler.git.worktree import trash
from ostler.git.worktree import worktree_pool as warm
from ostler.model.plan import Gate
from world import busy_below, wait_until


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


def test_a_gate_that_is_cancelled_leaves_nothing(world: GateWorld, tmp_path: Path) -> None:
    """There is no verdict, process or directory left; the next check starts from the beginning."""
    started = tmp_path / "started"

    async def cancelled(tools: object, case: object) -> None:
        step = world.step(Gate("command", command=f"touch {started}; setsid sleep 300 & sleep 300"))
        asking = asyncio.create_task(perform(step, case, tools))  # type: ignore[arg-type]
        while not started.exists():
            await asyncio.sleep(0.02)
        asking.cancel()
        assert await asking is None

    world.run(cancelled)  # type: ignore[arg-type]
    assert world.leftovers() == [] and busy_below(world.temporary) == []
    assert world.command("true").verdict == "pass"


def test_a_kill_during_a_gate_leaves_nothing_for_long(world: GateWorld, tmp_path: Path) -> None:
    """After kill -9 the processes end; the next run removes the files and checks again."""
    ledger = tmp_path / "asked"
    command = f"echo asked >> {ledger}; test -e {tmp_path}/go && exit 0; setsid sleep 300 & sleep 300"
    argv = [sys.executable, gate_world.__file__, str(tmp_path), command]
    here = {"PYTHONPATH": os.pathsep.join([str(Path(gate_world.__file__).parent), *sys.path])}
    run = subprocess.Popen(argv, env={**os.environ, **here}, start_new_session=True)
    try:
        wait_until(ledger.exists, 60, "the gate was never asked")
        assert len(world.leftovers()) > 0
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    wait_until(lambda: not busy_below(world.temporary), 60, "processes are left")
    (tmp_path / "go").touch()
    wait_until(lambda: not is_busy(world), 60, "the lock is still held")
    assert world.command(command).verdict == "pass"
    assert ledger.read_text() == "asked\nasked\n"
    assert world.leftovers() == []
    assert not list((world.home / "gates").glob("checkout*"))


def test_the_end_of_the_task_takes_away_what_a_killed_gate_left(world: GateWorld) -> None:
    """This also holds if the gate is not checked again because the task was cancelled."""
    left = world.temporary / "ostler-gate-0123456789abcdef"
    (left / "project" / "deep").mkdir(parents=True)
    (world.home / "gates").mkdir()
    (world.home / "gates" / "checkout.path").write_text(str(left))
    step = ReleaseWorkspace(world.task.id, f"{world.task.id}/1/release")
    world.run(lambda tools, case: perform(step, case, tools))
    assert world.leftovers() == [] and not list((world.home / "gates").iterdir())


def test_only_our_own_directory_is_ever_taken_away(world: GateWorld, tmp_path: Path) -> None:
    """The recorded path of a checkout may be forged."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (world.home / "gates").mkdir()
    record = world.home / "gates" / "checkout.path"
    record.write_text(str(precious))
    assert world.command("true").verdict == "pass"
    os.mkfifo(record)
    assert world.command("true").verdict == "pass"
    record.symlink_to(precious / "file")
    assert world.command("true").verdict == "pass"
    assert (precious / "file").read_text() == "x"


LOOK = r"""
find . -mindepth 1 -path ./.git -prune -o -printf '%p %m %y %l %n\n' | sort
find . -path ./.git -prune -o -type f -print | sort | xargs cat
stat -c %a .; git status --porcelain --ignored; git config --list; git rev-parse HEAD
git symbolic-ref -q HEAD; ls -A .git/hooks .git/info 2>/dev/null; git for-each-ref
"""
MESS = r"""
echo leak > a.txt; chmod 666 sub/b.txt; chmod 000 sub/c.txt; mkdir -p node_modules/x sub/new
echo leak > node_modules/x/leak; ln -s / sub/new/root; rm -rf other; echo leak > other
git config user.name leak; mkdir -p .git/hooks .git/info; echo leak > .git/hooks/post-checkout
chmod +x .git/hooks/post-checkout; echo '* text eol=crlf' > .git/info/attributes
echo '* text eol=crlf' > sub/.gitattributes; git add -A; git -c user.email=x commit -qm leak
git update-index --assume-unchanged a.txt; echo leak > ../beside; git branch leak
exit 1
"""
TREE = {"sub/b.txt": "two\n", "sub/c.txt": "three\n", "other/d.txt": "four\n"}


@pytest.fixture
def warm_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateWorld:
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    return GateWorld(tmp_path, TREE)


def kept(world: GateWorld) -> list[warm.PoolEntry]:
    return warm.find_available_entries(warm.WorktreePool(world.project.layout.worktrees, 2))


def test_a_kept_checkout_is_as_clean_as_a_new_one(warm_world: GateWorld) -> None:
    """The next command has only the commit, for any leftovers of the last one in files and in git."""
    world = warm_world
    off = replace(world.settings(), git=GitSettings(warm_worktrees=0))
    wanted = world.output(world.command(LOOK, off))
    assert not kept(world)
    assert world.command(MESS).verdict == "fail"
    (left,) = kept(world)
    inode = left.tree.lstat().st_ino
    assert world.output(world.command(LOOK)) == wanted
    (again,) = kept(world)
    assert again.tree.lstat().st_ino == inode, "it was not used again"
    assert world.leftovers() == [] and not list((world.home / "gates").glob("checkout*"))


def test_a_gate_and_a_task_share_what_is_kept(warm_world: GateWorld) -> None:
    """A gate's tree is reused as a worktree without any file of the gate."""
    world = warm_world
    world.command(MESS)
    (left,) = kept(world)
    inode = left.tree.lstat().st_ino
    worktree = world.worktree()
    assert worktree.path.lstat().st_ino == inode and not kept(world)
    assert git(worktree.path, "status", "--porcelain", "--ignored") == ""
    assert git(worktree.path, "symbolic-ref", "HEAD") == worktree.ref
    assert {path.name for path in worktree.path.iterdir()} == {".git", ".gitignore", "a.txt", "sub", "other"}
    assert not (worktree.repository.git_dir / "info").exists()


def test_no_verdict_waits_for_a_deletion(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The files are moved away by a rename; the deletion runs later."""
    may_go, real = threading.Event(), trash.empty_trash

    def slow(place: Path, pause: object = None) -> int:
        may_go.wait(60)
        return real(place)

    monkeypatch.setattr(trash, "empty_trash", slow)
    try:
        assert world.command("true").verdict == "pass"
        assert trash.has_trash(world.project.layout.worktrees) and world.leftovers() == []
    finally:
        may_go.set()
    wait_until(lambda: not trash.has_trash(world.project.layout.worktrees), 60, "the trash is not emptied")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no second disk")
def test_a_checkout_on_another_disk_goes_too(world: GateWorld, tmp_path: Path) -> None:
    """A rename to the trash is not possible; the files and the record are deleted in place."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        world.environ["TMPDIR"] = elsewhere
        assert world.command("mkdir -p x/y; chmod 0 x/y; chmod 0 x").verdict == "pass"
        assert world.command("pwd").verdict == "pass"
        wait_until(lambda: not os.listdir(elsewhere), 60, "the checkout is left")
        wait_until(lambda: not list((world.home / "gates").glob("checkout*")), 60, "the note is left")


def is_busy(world: GateWorld) -> bool:
    return world.project.is_claimed(world.task.id)
