"""kill -9 of a run at random moments with three tasks open: nothing is lost, nothing happens twice."""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from boundaries import FULL
from oracle import check_all_done
from world import World, wait_until

KILLS = 100 if FULL else 25


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3, 4] if FULL else [1])
def test_killed_at_random_moments_every_task_is_done_once(tmp_path: Path, seed: int) -> None:
    """Half of the kills hit the run alone, half the run and all its processes."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    world = World(tmp_path, delay_seconds=0.2, events=5)
    tasks = [world.new(f"Task number {n}") for n in range(3)]
    try:
        for number in range(KILLS):
            before = len(world.started())
            run = world.start("run", "--all", "-j", "3")
            time.sleep(chance.uniform(0.1, 1.3))
            if number % 5 == 0:  # on any machine, some hit a working agent
                wait_for_agent(world, run, before)
            kill(run.pid, whole_tree=chance.random() < 0.5)
            run.wait(20)
            open_ones = [t for t in world.json("status")["tasks"] if t["status"] != "completed"]
            tasks += [world.new(f"Task number {len(tasks) + n}") for n in range(3 - len(open_ones))]
        world.ostler("run", "--all", "-j", "3")
        check_all_done(world, tasks)
        assert len(world.started()) > len(tasks), "no kill hit an agent at work: the storm was too weak"
    finally:
        world.close()


def wait_for_agent(world: World, run: subprocess.Popen[bytes], before: int) -> None:
    """Wait until one more than before has started, or the run has ended."""
    wait_until(lambda: len(world.started()) > before or run.poll() is not None, 60, "no agent was started")


def kill(pid: int, whole_tree: bool) -> None:
    """SIGKILL, without a cleanup."""
    try:
        run = psutil.Process(pid)
        below = run.children(recursive=True) if whole_tree else []
    except psutil.NoSuchProcess:
        return
    for process in (run, *below):
        with suppress(psutil.NoSuchProcess):  # an idle keeper ends with its run
            process.kill()
