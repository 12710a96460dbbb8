"""What a gate leaves when it is stopped or dies: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import gate_world
from gate_world import GateWorld
from ostler.engine.core.step import ReleaseWorkspace
from ostler.engine.steps.perform import perform
from ostler.model.plan import Gate
from world import wait_until


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return GateWorld(tmp_path)


def test_a_gate_that_is_cancelled_leaves_nothing(world: GateWorld, tmp_path: Path) -> None:
    """No verdict, no process, no directory; the next time it is asked anew."""
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
    """kill -9: the processes end by themselves, the next run takes the files away and asks once more."""
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
    """Also where the gate is never asked again, because a person cancelled the task."""
    left = world.temporary / "ostler-gate-0123456789abcdef"
    (left / "project" / "deep").mkdir(parents=True)
    (world.home / "gates").mkdir()
    (world.home / "gates" / "checkout.path").write_text(str(left))
    step = ReleaseWorkspace(world.task.id, f"{world.task.id}/1/release")
    world.run(lambda tools, case: perform(step, case, tools))
    assert world.leftovers() == [] and not list((world.home / "gates").iterdir())


def test_only_our_own_directory_is_ever_taken_away(world: GateWorld, tmp_path: Path) -> None:
    """The note of where a checkout was may lie."""
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


def busy_below(place: Path) -> list[int]:
    """Processes that work below a directory."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(place):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def is_busy(world: GateWorld) -> bool:
    return world.project.in_hand(world.task.id)
