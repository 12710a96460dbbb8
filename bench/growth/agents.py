"""Agents at work at the same time: from 10 to 200."""

from __future__ import annotations

import asyncio
import sys
import time

import p7_density
from caller import Caller
from growth.curve import Curve, collect
from measure import memory_mb, scratch

SIZES = (10, 50, 100, 200)
TIMES = ("start all", "stop all")


def measure() -> list[Curve]:
    memory, times = [], []
    for size in SIZES:
        total, started, stopped = asyncio.run(measure_size(size))
        memory.append((total, total / size))
        times.append((started * 1e3, stopped * 1e3))
    return [
        Curve(
            "agents-memory",
            "Memory of the run",
            "agents",
            "MB",
            SIZES,
            collect(("run, forker, keepers", "per agent"), memory),
            "Proportional memory (PSS), less that of the idle run and without the agents' own.",
        ),
        Curve(
            "agents-time",
            "Starting and stopping agents",
            "agents",
            "ms",
            SIZES,
            collect(TIMES, times),
            "From the calls to the last program that runs; from the cancellation to the last exit.",
        ),
    ]


async def measure_size(size: int) -> tuple[float, float, float]:
    """Memory in MB, seconds to start and to stop this many agents."""
    with scratch() as place:
        agent, hold = place / "agent", place / "hold"
        agent.write_text(p7_density.AGENT.format(hold=hold))
        agent.chmod(0o755)
        caller = Caller(place / "project", "command", agent, slots=size)
        await caller.call()
        hold.touch()
        alone = sum(memory_mb(process.pid) for process in p7_density.ours())
        began = time.perf_counter()
        calls = [asyncio.create_task(caller.call()) for _ in range(size)]
        await p7_density.until_agents(size)
        started = time.perf_counter() - began
        held = sum(memory_mb(process.pid) for process in p7_density.ours())
        began = time.perf_counter()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        stopped = time.perf_counter() - began
        await p7_density.until_agents(0)
        await caller.close()
    print(f"agents {size}: {held - alone:.0f} MB, stop {stopped * 1e3:.0f} ms", file=sys.stderr)
    return held - alone, started, stopped
