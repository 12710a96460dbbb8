"""P7: our memory per attempt while 200 agents run, called through the worker, and the threads of the run."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import psutil

from caller import Caller
from measure import MEGABYTES, Result, Unit, memory_mb, scratch, show, single

ROUNDS, ATTEMPTS, PATIENCE_SECONDS = 3, 200, 60
AGENT = """#!/bin/sh
[ -e {hold} ] || exit 0
exec sleep 600
"""


def measure() -> list[Result]:
    with scratch() as place:
        memory, threads = asyncio.run(hold_many(place))
    name = f"our memory per attempt at {ATTEMPTS} attempts (PSS)"
    return [
        single("P7", name, memory, "<= 1", MEGABYTES, best=max),
        single("P7", "threads of the run", threads, "<= 8", Unit("threads"), best=max),
    ]


async def hold_many(place: Path) -> tuple[list[float], list[float]]:
    """Memory per attempt and threads of this process, of each round."""
    agent, hold = place / "agent", place / "hold"
    agent.write_text(AGENT.format(hold=hold))
    agent.chmod(0o755)
    caller = Caller(place / "project", "command", agent, slots=ATTEMPTS)
    check_thread_counter()
    await caller.call()  # sets the expected memory of an agent, so that 200 of them can start
    hold.touch()
    rounds = [await hold_once(caller) for _ in range(ROUNDS)]
    await caller.close()
    return [memory for memory, _ in rounds], [float(threads) for _, threads in rounds]


async def hold_once(caller: Caller) -> tuple[float, int]:
    alone = sum(memory_mb(process.pid) for process in ours())
    calls = [asyncio.create_task(caller.call()) for _ in range(ATTEMPTS)]
    try:
        await until_agents(ATTEMPTS)
        held = sum(memory_mb(process.pid) for process in ours())
        threads = count_threads()
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    await until_agents(0)
    return (held - alone) / ATTEMPTS, threads


async def until_agents(wanted: int) -> None:
    """Wait until exactly this many agents run."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := sum(process.name() == "sleep" for process in below())) != wanted:
        assert time.monotonic() < deadline, f"{found} agents run, not {wanted}"
        await asyncio.sleep(0.2)


def ours() -> list[psutil.Process]:
    """This process, the forker and the keepers; the memory of an agent is not ours."""
    return [psutil.Process(), *(process for process in below() if process.name() != "sleep")]


def below() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def count_threads() -> int:
    return psutil.Process().num_threads()


def check_thread_counter() -> None:
    """Check that the counter includes one thread more."""
    before, done = count_threads(), threading.Event()
    more = threading.Thread(target=done.wait)
    more.start()
    assert count_threads() == before + 1
    done.set()
    more.join()


if __name__ == "__main__":
    show(measure())
