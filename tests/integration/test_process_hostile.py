"""Hostile programs and every way in which an attempt can end: nothing is left of them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TextIO

import psutil
import pytest
from process_zoo import KINDS, Hostile

from ostler.model.command import Exit, StopReason
from ostler.process import keeper
from ostler.process.forker_client import ForkerClient
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import StandardSpawner

DRIVER = Path(__file__).with_name("process_driver.py")
LINGERING = tuple(kind for kind in KINDS if kind not in ("obedient", "stubborn", "stopped"))


@pytest.fixture
def forker():
    forker = ForkerClient()
    yield forker
    forker.close()


class TooSlow(Exception):
    """A busy machine did not start the program within its limit."""


def run_hostile(
    forker: ForkerClient,
    hostile: Hostile,
    during: Callable[[asyncio.Task[Exit]], Awaitable[None]],
    **changes: object,
) -> Exit | BaseException:
    """Run it, call a function when it is ready, and return how run() ended. Raises TooSlow."""

    async def body() -> Exit | BaseException:
        ready = asyncio.Event()
        runner = DefaultCommandRunner(StandardSpawner(forker))
        running = asyncio.create_task(runner.run(hostile.command(**changes), lambda _: bool(ready.set())))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({running, waiting}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not ready.is_set():
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            raise TooSlow
        await during(running)
        return (await asyncio.gather(running, return_exceptions=True))[0]

    return asyncio.run(body())


async def nothing(_: asyncio.Task[Exit]) -> None:
    return


def run_to_its_limit(forker: ForkerClient, hostile: Hostile) -> Exit | BaseException:
    """Run it until its timeout: a second, or ten if the start takes longer."""
    try:
        return run_hostile(forker, hostile, nothing, timeout_seconds=1.0)
    except TooSlow:
        return run_hostile(forker, hostile, nothing, timeout_seconds=10.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [*LINGERING, "keeps_stdout"])
def test_success_leaves_nothing(kind: str, tmp_path: Path, forker: ForkerClient) -> None:
    """A main process that succeeds is a success; its remaining processes are ended before run() returns."""
    hostile = Hostile(tmp_path, kind, stays=False)
    ended = run_hostile(forker, hostile, nothing)
    assert hostile.alive() == []
    assert isinstance(ended, Exit)
    assert (ended.status, ended.stopped) == (0, None)
    assert ended.leftovers >= 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_timeout_leaves_nothing(kind: str, tmp_path: Path, forker: ForkerClient) -> None:
    """A program that does not end is stopped at its limit, with all its processes."""
    hostile = Hostile(tmp_path, kind, stays=True)
    ended = run_to_its_limit(forker, hostile)
    assert hostile.alive() == []
    assert isinstance(ended, Exit)
    assert ended.stopped is StopReason.TIMEOUT


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_cancel_leaves_nothing(kind: str, tmp_path: Path, forker: ForkerClient) -> None:
    """Cancelling the caller ends the whole tree before CancelledError is raised."""

    async def cancel(running: asyncio.Task[Exit]) -> None:
        running.cancel()

    hostile = Hostile(tmp_path, kind, stays=True)
    ended = run_hostile(forker, hostile, cancel)
    assert hostile.alive() == []
    assert isinstance(ended, asyncio.CancelledError)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_keeper_leaves_nothing(kind: str, tmp_path: Path, forker: ForkerClient) -> None:
    """When the keeper is killed the forker inherits the tree and ends it before run() returns."""
    hostile = Hostile(tmp_path, kind, stays=True)

    async def kill_keeper(_: asyncio.Task[Exit]) -> None:
        os.kill(hostile.main().ppid(), signal.SIGKILL)

    ended = run_hostile(forker, hostile, kill_keeper)
    assert hostile.alive() == []
    assert isinstance(ended, Exit)
    assert ended.status == -9


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_forker_changes_nothing(kind: str, tmp_path: Path, forker: ForkerClient) -> None:
    """The keepers outlive the forker: attempts continue and end cleanly, the next one gets a new forker."""
    hostile = Hostile(tmp_path, kind, stays=True)

    async def kill_forker(running: asyncio.Task[Exit]) -> None:
        os.kill(forker.pid, signal.SIGKILL)
        await asyncio.sleep(0.05)
        running.cancel()

    ended = run_hostile(forker, hostile, kill_forker)
    assert hostile.alive() == []
    assert isinstance(ended, asyncio.CancelledError)
    (tmp_path / "next").mkdir()
    following = Hostile(tmp_path / "next", "keeps_stdout", stays=False)
    assert isinstance(run_hostile(forker, following, nothing), Exit)
    assert following.alive() == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_run_leaves_nothing(kind: str, tmp_path: Path) -> None:
    """After kill -9 of the run its keepers end everything within their grace of one second plus two."""
    hostile = Hostile(tmp_path, kind, stays=True)
    with Driven(hostile) as driven:
        driven.process.kill()
        driven.process.wait()
        assert hostile.alive_within(10 * 3.0) == []
        assert driven.small_processes_within(10 * 3.0) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_forker_and_keeper_leave_nothing(kind: str, tmp_path: Path) -> None:
    """A run that is a subreaper adopts the processes that both leave when they are killed, and ends them."""
    hostile = Hostile(tmp_path, kind, stays=True)
    with Driven(hostile) as driven:
        keeper = hostile.main().parent()
        assert keeper
        forker = keeper.parent()
        assert forker
        forker.kill()
        keeper.kill()
        assert driven.read_line() == "ended -9"
        assert hostile.alive() == []


def test_two_hundred_daemons_are_ended(tmp_path: Path, forker: ForkerClient) -> None:
    """Two hundred daemons that ignore TERM, each in its own session, do not survive a cancel."""
    hostile = Hostile(tmp_path, "daemons", stays=True, count=200)

    async def cancel(running: asyncio.Task[Exit]) -> None:
        running.cancel()

    assert isinstance(run_hostile(forker, hostile, cancel), asyncio.CancelledError)
    assert hostile.alive() == []


def test_oracle_catches_a_keeper_without_the_subreaper_call(tmp_path: Path) -> None:
    """Without that one line in a copy of the program, daemons survive and the oracle detects it."""
    copy = tmp_path / "keeper"
    copy.mkdir()
    source = Path(keeper.__file__).parent
    for path in source.glob("*.py"):
        (copy / path.name).write_text(path.read_text().replace("tree.become_subreaper()", "pass"))
    assert (copy / "keeper.py").read_text() != (source / "keeper.py").read_text()
    forker = ForkerClient(str(tmp_path))
    hostile = Hostile(tmp_path, "bare_daemon", stays=True)
    try:
        ended = run_to_its_limit(forker, hostile)
        assert isinstance(ended, Exit)
        assert hostile.alive() != []
    finally:
        hostile.kill_all()
        forker.close()
    assert hostile.alive_within(20.0) == []


def test_held_lock_is_taken_until_nothing_is_alive(tmp_path: Path) -> None:
    """After kill -9 of the run the keeper holds a task's lock until its last process is gone."""
    hostile = Hostile(tmp_path, "bare_daemon", stays=True)
    with Driven(hostile) as driven, (tmp_path / "lock").open("w") as lock:
        keeper = hostile.main().ppid()
        held = [os.path.realpath(entry) for entry in Path(f"/proc/{keeper}/fd").iterdir()]
        assert str(tmp_path / "lock") in held
        driven.process.kill()
        driven.process.wait()
        deadline = time.monotonic() + 10 * 3.0
        while not try_lock(lock):
            assert time.monotonic() < deadline
        assert hostile.alive() == []


def try_lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Driven:
    """A run in a separate process, so that it can be killed."""

    def __init__(self, hostile: Hostile) -> None:
        self.hostile = hostile
        (hostile.folder / "argv.json").write_text(
            json.dumps(hostile.argv)
        )  # not argv: the token would be found
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), str(hostile.folder)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self) -> Driven:
        assert self.read_line() == "ready"
        self._small = psutil.Process(self.process.pid).children(recursive=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()
        self.hostile.kill_all()

    def read_line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def small_processes_within(self, seconds: float) -> list[psutil.Process]:
        """Return the forker and keepers that remain after at most this time."""
        deadline = time.monotonic() + seconds
        while (left := [one for one in self._small if _lives(one)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
