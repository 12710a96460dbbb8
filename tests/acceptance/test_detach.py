"""ostler run --detach: a run that continues without its terminal."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psutil
import pytest

from journal_file import journal_path
from world import STOP, World, wait_until

HERE = pytest.mark.one_machine("in a cluster --detach starts no process: the workers run the tasks")


class Runs:
    """A project whose detached runs are ended with the test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pids: list[int] = []

    def start(self, *args: str) -> dict[str, Any]:
        """Detach a run; return its report."""
        shown = self.world.json("run", *args, "--detach")
        self.pids.append(shown["pid"])
        return shown

    def close(self) -> None:
        for pid in self.pids:
            if is_alive(pid):
                os.kill(pid, STOP)
            wait_until(lambda pid=pid: not is_alive(pid), 60, f"the run {pid} does not end")


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def runs(world: World) -> Iterator[Runs]:
    made = Runs(world)
    yield made
    made.close()


def logs(world: World) -> list[Path]:
    return list((world.root / ".ostler").glob("run-*.log"))


def is_completed(world: World, task: str) -> bool:
    return bool(world.show(task)["status"] == "completed")


@HERE
def test_a_detached_run_works_on_alone(world: World, runs: Runs) -> None:
    """One document names its process and its log; the task is completed, and only the log is left."""
    task = world.new()
    shown = runs.start(task)
    assert (shown["schema"], shown["tasks"]) == ("ostler.detached/1", [task])
    log = Path(shown["log"])
    assert [log] == logs(world) and stat.S_IMODE(log.stat().st_mode) == 0o600
    wait_until(lambda: not is_alive(shown["pid"]), 60, "the run does not end")
    assert is_completed(world, task)
    last = json.loads(log.read_text().splitlines()[-1])
    assert (last["schema"], last["id"]) == ("ostler.task/1", task)
    assert world.survivors() == [] and list((journal_path(world.root).parent / "runs").iterdir()) == []


@HERE
def test_it_is_seen_while_it_works_and_stops_in_good_order(world: World, runs: Runs) -> None:
    """status names the run; TERM leaves the task pending and ends the agent."""
    world.behave(fault="a1_hangs")
    task = world.new()
    shown = runs.start("--all")
    wait_until(world.started, 60, "the agent was not started")
    (seen,) = world.json("status")["runs"]
    assert seen["pid"] == shown["pid"] and seen["since"]
    assert f"process {shown['pid']}" in world.ostler("status").stdout
    os.kill(shown["pid"], STOP)
    wait_until(lambda: not is_alive(shown["pid"]), 60, "the run does not end")
    assert (world.show(task)["status"], world.show(task)["code"]) == ("pending", "INTERRUPTED")
    assert world.json("status")["runs"] == []
    wait_until(lambda: not world.survivors(), 60, "something is left")


@HERE
def test_cleanup_takes_the_logs_of_runs_that_ended(world: World, runs: Runs) -> None:
    """The log of a running run is kept until it ends."""
    world.behave(fault="a1_hangs")
    world.new()
    shown = runs.start("--all")
    wait_until(world.started, 60, "the agent was not started")
    (world.root / ".ostler" / "run-old.log").write_text("what a run said yesterday\n")
    assert "1 log of" in world.ostler("cleanup").stdout
    assert [str(log) for log in logs(world)] == [shown["log"]]
    os.kill(shown["pid"], STOP)
    wait_until(lambda: not is_alive(shown["pid"]), 60, "the run does not end")
    wait_until(lambda: world.json("cleanup")["logs"] == [shown["log"]], 60, "the log is not free")
    assert logs(world) == []


@HERE
def test_a_killed_run_is_not_seen_any_more(world: World, runs: Runs) -> None:
    """Its file is kept until the next run removes it; it is not listed."""
    world.behave(plan=[{"fault": "a1_hangs"}, {}])
    task = world.new()
    shown = runs.start(task)
    wait_until(world.started, 60, "the agent was not started")
    os.kill(shown["pid"], 9)
    wait_until(lambda: not world.json("status")["runs"], 60, "the ended run is listed")
    assert len(list((journal_path(world.root).parent / "runs").iterdir())) == 1
    world.ostler("run", task)
    assert is_completed(world, task) and list((journal_path(world.root).parent / "runs").iterdir()) == []


@HERE
def test_it_outlives_its_terminal(world: World, runs: Runs) -> None:
    """The terminal is closed, and its session gets SIGHUP; the agent continues."""
    gate = world.root.parent / "go"
    world.behave(script=f"while [ ! -e {gate} ]; do sleep 0.05; done")
    task = world.new()
    terminal, side = pty.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-c", SHELL, sys.executable, task],
        cwd=world.root,
        env=world.environ,
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    printed = b""
    while b"shell waits" not in printed:
        printed += os.read(terminal, 4096)
    assert b"background" in printed and b"ostler status" in printed
    (seen,) = world.json("status")["runs"]
    runs.pids.append(seen["pid"])
    assert os.getsid(seen["pid"]) == seen["pid"]
    os.close(terminal)
    assert shell.wait(60) < 0, "the terminal's session was not hung up"
    gate.touch()
    wait_until(lambda: not is_alive(seen["pid"]), 60, "the run does not end")
    assert is_completed(world, task) and len(world.started()) == 1


SHELL = """
import fcntl, subprocess, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
subprocess.run([sys.argv[1], "-m", "ostler", "run", sys.argv[2], "--detach"], check=True)
print("shell waits", flush=True)
time.sleep(300)
"""


@HERE
def test_a_new_task_from_standard_input(world: World, runs: Runs) -> None:
    """The task is created before the detach, so that the run needs no standard input."""
    done = world.ostler("run", "-f", "-", "--detach", "--json", stdin="# Greet\n\nSay hello.\n")
    shown = json.loads(done.stdout)
    runs.pids.append(shown["pid"])
    wait_until(lambda: not is_alive(shown["pid"]), 60, "the run does not end")
    (listed,) = world.json("status")["tasks"]
    assert (listed["title"], listed["status"]) == ("Greet", "completed")


@pytest.mark.parametrize(
    ("args", "environ", "reported"),
    [
        (("nowhere",), {}, "no task nowhere"),
        (("--all",), {"OSTLER_RUN__JOBS": "many"}, "OSTLER_RUN__JOBS"),
        (("--all", "--step"), {}, "--step"),
        (("--all", "--dry-run"), {}, "--dry-run"),
        ((), {}, "pass either task ids, --all, -p or -f"),
    ],
)
@pytest.mark.sampled(2)
def test_what_cannot_begin_is_reported_here(
    world: World, args: tuple[str, ...], environ: dict[str, str], reported: str
) -> None:
    """The sentence, exit 2, and nothing left: no run and no log."""
    world.new()
    printed = world.ostler("run", *args, "--detach", code=2, **environ)
    assert reported in printed.stderr and printed.stdout == ""
    assert logs(world) == [] and world.survivors() == []


@pytest.mark.full
def test_a_run_that_ends_before_it_begins_is_reported_here(world: World) -> None:
    """A task that waits for a person: reported with the exit code of a run here; no log is kept."""
    (world.root / "ostler.toml").write_text('[gates]\ndefault = "human"\n')
    task = world.new()
    world.ostler("run", task, code=4)
    again = world.ostler("run", task, "--detach", code=4)
    assert "needs_review" in again.stdout
    world.ostler("cancel", task)
    assert "Nothing to run" in world.ostler("run", "--all", "--detach").stdout
    assert logs(world) == []


@HERE
@pytest.mark.full
def test_a_store_that_is_busy_is_waited_for(world: World) -> None:
    """Another process holds the journal: the run starts, prints that in its log, and continues."""
    task = world.new()
    holder = apsw.Connection(str(journal_path(world.root)))
    holder.execute("BEGIN IMMEDIATE")
    try:
        world.ostler("run", "--all", "--detach", "--json")
        (log,) = logs(world)
        wait_until(lambda: "waiting for the journal" in log.read_text(), 30, "the wait is not printed")
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    wait_until(lambda: world.show(task)["status"] == "completed", 60, "the run did not continue")
    wait_until(lambda: not world.survivors(), 60, "something is left")
