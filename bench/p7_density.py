"""P7: our memory per attempt while 200 attempts sleep, and the threads of the run."""

from __future__ import annotations

import asyncio
import os
import threading

from measure import Result, memory_mb, show
from ostler.model.command import Command
from ostler.process.forker import shared_forker
from ostler.process.spawner import StandardSpawner

ATTEMPTS = 200


def measure() -> list[Result]:
    return asyncio.run(hold_many())


async def hold_many() -> list[Result]:
    forker, spawner = shared_forker(), StandardSpawner()
    command = Command(("sleep", "600"), "/", {"PATH": os.environ["PATH"]})
    await end(await spawner.spawn(command))
    alone = memory_mb() + memory_mb(forker.pid)
    children = [await spawner.spawn(command) for _ in range(ATTEMPTS)]
    keepers = [child.keeper.started.keeper for child in children if child.keeper.started]
    held = sum(map(memory_mb, keepers)) + memory_mb() + memory_mb(forker.pid) - alone
    threads = threading.active_count()
    await asyncio.gather(*map(end, children))
    return [
        Result("P7", f"our memory per attempt at {ATTEMPTS} attempts (PSS)", held / ATTEMPTS, "<= 1", "MB"),
        Result("P7", "threads of the run", threads, "<= 8", "threads"),
    ]


async def end(child) -> None:
    await child.keeper.end(0)
    child.close()


if __name__ == "__main__":
    show(measure())
