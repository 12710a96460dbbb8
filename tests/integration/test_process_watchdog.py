"""Deadlines for our own helpers: a stopped keeper or forker is continued or killed (R6)."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ostler.errors import Code
from ostler.executors.exit_status import classify_exit
from ostler.files.layout import Layout
from ostler.model.command import Command, Exit, StopReason
from ostler.model.ids import TaskId
from ostler.process import watchdog
from ostler.process.forker_client import ForkerClient
from ostler.process.process_state import is_stopped
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import StandardSpawner
from world import INTERRUPT, World, end, wait_until

STOPS_ITS_KEEPER = "kill -STOP $PPID; echo up; sleep 60"
STOPS_IT_AGAIN_AND_AGAIN = "trap '' TERM; while :; do kill -STOP $PPID; sleep 0.01; done"


@pytest.fixture
def forker() -> Iterator[ForkerClient]:
    made = ForkerClient()
    yield made
    made.close()


def run(forker: ForkerClient, script: str, held: int = 0, **limits: float) -> Exit:
    limits = {"timeout_seconds": 1.2, "grace_seconds": 0.2} | limits
    command = Command(("sh", "-c", script), "/", {"PATH": os.environ["PATH"]}, **limits)  # type: ignore[arg-type]
    runner = DefaultCommandRunner(StandardSpawner(forker), [held] if held else [])
    return asyncio.run(asyncio.wait_for(runner.run(command, lambda _: False), 30))


def is_free(path: Path) -> bool:
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_keeper_that_its_agent_stopped_is_continued(forker: ForkerClient, tmp_path: Path) -> None:
    """The time limit holds, the problem is reported, and the lock is free."""
    lock, began = tmp_path / "lock", time.monotonic()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ended = run(forker, STOPS_ITS_KEEPER, held=file.fileno())
    assert ended.stopped is StopReason.TIMEOUT
    assert "was stopped by a signal and was continued" in ended.helper_problem
    assert " s by the timeout; before that, its keeper" in classify_exit(ended, "mine").message
    assert time.monotonic() - began < 5
    assert is_free(lock)


@pytest.mark.full
def test_a_keeper_that_is_stopped_again_and_again_ends_too(forker: ForkerClient) -> None:
    """The time limit holds, nothing is left, and the next program starts as usual."""
    began = time.monotonic()
    ended = run(forker, STOPS_IT_AGAIN_AND_AGAIN)
    assert ended.stopped is StopReason.TIMEOUT and ended.helper_problem
    assert time.monotonic() - began < 15
    wait_until(lambda: len(list_below(forker)) <= 1, 5, "only the spare keeper may be left")
    assert run(forker, "true").status == 0


def list_below(forker: ForkerClient) -> list[psutil.Process]:
    return psutil.Process(forker.pid).children(recursive=True)


def test_a_keeper_that_does_not_respond_is_killed(
    forker: ForkerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forker ends what it left; the next program starts as usual."""
    monkeypatch.setattr(watchdog, "_MAX_RESUMES", -1)  # the first check kills it
    ended = run(forker, "sleep 60 & sleep 60", timeout_seconds=20)
    assert ended.status == -signal.SIGKILL and "was killed" in ended.helper_problem
    wait_until(lambda: len(list_below(forker)) <= 1, 5, "only the spare keeper may be left")
    monkeypatch.undo()
    assert run(forker, "true").status == 0


def test_a_keeper_that_its_agent_killed_is_named(forker: ForkerClient) -> None:
    """The agent's own end is unknown, so no signal of it is reported."""
    # A keeper that dies before it reports the start is a failed start, which is retried.
    ended = run(forker, "sleep 0.5; kill -KILL $PPID; sleep 60", timeout_seconds=20)
    status = classify_exit(ended, "mine")
    assert (status.code, ended.keeper_killed) == (Code.AGENT_KILLED, True)
    assert "its keeper, a helper process, was killed" in status.message
    assert not run(forker, "kill -KILL $$").keeper_killed


def test_a_stopped_forker_is_continued(forker: ForkerClient) -> None:
    """A program that needs a new keeper starts after a moment."""
    assert run(forker, "true").status == 0
    for process in (psutil.Process(forker.pid), *psutil.Process(forker.pid).children()):
        with contextlib.suppress(psutil.NoSuchProcess):  # the keeper of the program that ended
            process.suspend()
    wait_until(lambda: is_stopped(forker.pid), 5, "it is not stopped")
    assert run(forker, "true").status == 0
    os.kill(forker.pid, signal.SIGSTOP)  # closing it must not wait without end either


def test_one_interrupt_ends_a_run_whose_keeper_is_stopped(world: World) -> None:
    """No second Ctrl-C is needed, nothing is left, and the lock is free."""
    world.behave(script="kill -STOP $(ps -o ppid= -p $PPID); sleep 60")
    task = world.new()
    started = world.start("run", "--all", OSTLER_RUN__TIMEOUT_SECONDS="60")
    wait_until(world.started, 30, "the agent did not start")
    time.sleep(0.3)
    began = time.monotonic()
    assert end(started, INTERRUPT, 15) == 130
    assert time.monotonic() - began < 6
    assert is_free(Layout(world.root).lock(TaskId(task)))
    assert world.show(task)["status"] == "pending"


@pytest.mark.full
def test_a_stuck_helper_is_a_failure_of_the_host(world: World) -> None:
    """The attempt has the code HELPER_STUCK and is retried."""
    stops = {"script": "kill -STOP $(ps -o ppid= -p $PPID); sleep 60"}
    world.behave(plan=[stops, {}])
    task = world.new()
    world.ostler("run", "--all", OSTLER_RUN__TIMEOUT_SECONDS="2")
    attempts = world.show(task)["attempts"]
    assert [attempt["code"] for attempt in attempts] == ["HELPER_STUCK", None]
