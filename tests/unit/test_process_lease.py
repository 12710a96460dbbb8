"""Leases: programs end with them, also when their run is stopped or does nothing about it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ostler.model.command import Command, Exit
from ostler.process.lease import CURRENT_LEASE, LEASE_RATIO, Lease
from ostler.process.process_state import is_stopped
from ostler.process.runner import DefaultCommandRunner
from world import wait_until

# An agent with a child in a session of its own, which no signal to the agent's group reaches.
AGENT = "setsid sleep 60 & echo $! > {0}/child; echo $$ > {0}/agent; trap '' TERM; wait"
WORKER = """
import asyncio, os, sys, time
from ostler.model.command import Command
from ostler.process.lease import CURRENT_LEASE, Lease
from ostler.process.runner import DefaultCommandRunner

async def main(heartbeat, script):
    lease = Lease(float(heartbeat)) if heartbeat != "none" else None
    CURRENT_LEASE.set(lease)
    command = Command(("sh", "-c", script), "/", {"PATH": os.environ["PATH"]}, grace_seconds=0.2)
    work = asyncio.create_task(DefaultCommandRunner().run(command, lambda line: False))
    while not work.done():
        await asyncio.sleep(0.05)
        if lease:
            lease.extend(lease.read_clock())
    print("ended", work.result().status)

asyncio.run(main(*sys.argv[1:]))
"""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class StartedWorker:
    """A process that runs the agent, and extends its lease twenty times a second."""

    def __init__(self, folder: Path, heartbeat: str) -> None:
        argv = [sys.executable, "-c", WORKER, heartbeat, AGENT.format(folder)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        named = folder / "agent"
        wait_until(lambda: named.exists() and named.read_text().endswith("\n"), 20, "no agent")
        self.pids = [int((folder / name).read_text()) for name in ("agent", "child")]

    def count_alive(self) -> int:
        return sum(is_alive(pid) for pid in self.pids)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def workers() -> Iterator[list[StartedWorker]]:
    started: list[StartedWorker] = []
    yield started
    for one in started:
        one.close()
    wait_until(lambda: not any(one.count_alive() for one in started), 20, "an agent is left")


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_lease_that_is_over_stays_over() -> None:
    """A late answer does not bring it back: the programs are dead by then."""
    clock = Clock()
    lease = Lease(10.0, clock)
    clock.now += 5.0
    lease.extend(103.0)
    assert lease.until == 103.0 + 10.0 * LEASE_RATIO
    lease.extend(101.0)
    assert lease.until == 103.0 + 10.0 * LEASE_RATIO
    clock.now = 110.0
    assert lease.is_over
    lease.extend(109.9)
    assert lease.is_over


def test_listeners_get_each_change_until_they_are_removed() -> None:
    """A keeper gets the end of the lease when its program starts, and each new one."""
    clock, seen = Clock(), []
    lease = Lease(10.0, clock)
    lease.add(seen.append)
    lease.extend(101.0)
    lease.remove(seen.append)
    lease.end()
    assert seen == [107.0, 108.0]
    assert lease.is_over


def run_under(lease: Lease, script: str, act: threading.Timer | None = None) -> tuple[Exit, float]:
    async def scene() -> Exit:
        CURRENT_LEASE.set(lease)
        command = Command(("sh", "-c", script), "/", {"PATH": os.environ["PATH"]}, grace_seconds=30.0)
        return await DefaultCommandRunner().run(command, lambda _: False)

    if act:
        act.start()
    began = time.monotonic()
    return asyncio.run(scene()), time.monotonic() - began


def test_a_program_is_killed_when_its_lease_is_over() -> None:
    """It gets no grace period: another host may start the same work."""
    ended, seconds = run_under(Lease(0.5 / LEASE_RATIO), "trap '' TERM; sleep 9 & wait; wait")
    assert ended.status == -signal.SIGKILL
    assert 0.4 < seconds < 5.0


def test_another_thread_ends_the_lease_at_once() -> None:
    """The thread of the heartbeats need not wait for the loop of the run."""
    lease = Lease(600.0)
    ended, seconds = run_under(lease, "sleep 60", threading.Timer(0.3, lease.end))
    assert ended.status == -signal.SIGKILL
    assert seconds < 10.0


def test_a_program_with_an_extended_lease_works_on() -> None:
    """Each answered heartbeat gives it more time."""
    lease = Lease(0.6 / LEASE_RATIO)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.1):
            lease.extend(lease.read_clock())

    beats = threading.Thread(target=beat)
    beats.start()
    try:
        ended, _ = run_under(lease, "sleep 1.5; exit 3")
    finally:
        stop.set()
        beats.join()
    assert ended.status == 3


def test_the_agent_of_a_stopped_worker_is_killed(tmp_path: Path, workers: list[StartedWorker]) -> None:
    """A worker that a signal stopped extends nothing: its keeper kills the agent and all of its children."""
    worker = StartedWorker(tmp_path, "2.0")
    workers.append(worker)
    time.sleep(1.6)
    assert worker.count_alive() == 2, "the lease was extended"
    worker.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until(lambda: worker.count_alive() == 0, 10, "the agent works on")
    assert time.monotonic() - stopped < 5.0
    assert is_stopped(worker.process.pid), "the worker did it"
    worker.process.send_signal(signal.SIGCONT)
    printed, _ = worker.process.communicate(timeout=20)
    assert printed == f"ended {-signal.SIGKILL}\n"


def test_without_a_lease_the_agent_of_a_stopped_worker_works_on(
    tmp_path: Path, workers: list[StartedWorker]
) -> None:
    """On one machine a suspended run keeps its agent: nobody else can have its task."""
    worker = StartedWorker(tmp_path, "none")
    workers.append(worker)
    worker.process.send_signal(signal.SIGSTOP)
    time.sleep(2.0)
    assert worker.count_alive() == 2
    worker.process.send_signal(signal.SIGCONT)
