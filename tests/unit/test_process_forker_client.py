"""The small process that forks keepers."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psutil
import pytest

from ostler.model.command import Command
from ostler.process.forker_client import ForkerClient
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import StandardSpawner


@pytest.fixture
def forker():
    forker = ForkerClient()
    yield forker
    forker.close()


def run(forker: ForkerClient, script: str) -> list[bytes]:
    lines: list[bytes] = []
    command = Command(("sh", "-c", script), "/", {"PATH": os.environ["PATH"]})
    runner = DefaultCommandRunner(StandardSpawner(forker))
    asyncio.run(runner.run(command, lambda line: bool(lines.append(line))))
    return lines


def wait_until(holds, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return held


def test_it_starts_on_first_use_and_is_reused(forker: ForkerClient) -> None:
    """One process serves all programs of a run."""
    assert forker.pid == 0
    run(forker, "true")
    first = forker.pid
    run(forker, "true")
    assert forker.pid == first > 0


def test_it_starts_again_when_it_was_killed(forker: ForkerClient) -> None:
    """The prepared keeper serves one more program, and the next one gets a new forker."""
    run(forker, "true")
    first = forker.pid
    os.kill(first, signal.SIGKILL)
    assert [run(forker, "echo x") for _ in range(3)] == [[b"x"]] * 3
    assert forker.pid != first


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ignores_the_signals_of_a_terminal(forker: ForkerClient, number: int) -> None:
    """Ctrl-C in the terminal is delivered to the run alone, which stops the programs in order."""
    run(forker, "true")
    os.kill(forker.pid, number)
    first = forker.pid
    assert run(forker, f"kill -{int(number)} $PPID; echo x") == [b"x"]
    assert forker.pid == first


def test_it_ends_with_the_run(forker: ForkerClient) -> None:
    """When the run closes its socket, the forker and the prepared keeper end."""
    run(forker, "true")
    small = [psutil.Process(forker.pid), *psutil.Process(forker.pid).children()]
    forker.close()
    assert wait_until(lambda: not any(process.is_running() for process in small))


def test_keepers_hold_nothing_of_each_other(forker: ForkerClient) -> None:
    """A keeper has only its own socket and pipe; a copy elsewhere would hide the end of the run."""
    run(forker, "true")

    async def body() -> list[int]:
        env = {"PATH": os.environ["PATH"]}
        spawner = StandardSpawner(forker)
        children = [await spawner.spawn(Command(("sleep", "60"), "/", env)) for _ in range(3)]
        assert wait_until(lambda: len(psutil.Process(forker.pid).children()) == 4)
        keepers = [child.keeper.program.keeper for child in children if child.keeper.program]
        counts = [len(os.listdir(f"/proc/{pid}/fd")) for pid in keepers]
        for child in children:
            await child.keeper.stop_and_wait(0)
            child.close()
        return counts

    assert asyncio.run(body()) == [3 + 1 + 2] * 3


def test_zombies_are_collected_while_the_program_runs(forker: ForkerClient) -> None:
    """Daemons that end before the main process do not remain as zombies of the keeper."""
    alone = "[ $(ps -o pid= --ppid $PPID | wc -l) = 1 ]"
    script = f"for i in $(seq 200); do {alone} && break; sleep 0.1; done; {alone} && echo alone"
    assert run(forker, f"for i in $(seq 30); do (setsid true &); done; {script}") == [b"alone"]
