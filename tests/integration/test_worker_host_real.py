"""Real programs, let in one after the other where little memory is pretended to be free."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from ostler.clock import SystemClock
from ostler.config.settings import HostSettings, PoolSettings
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner
from ostler.worker.host import Host, get_taken_memory_mb
from ostler.worker.slots import WorkerPool

AGENT = "hoard = b'x' * (30 << 20); import time; time.sleep(0.3)"
FREE_MB, KEPT_MB, STAGGER = 600, 512, 0.02


def test_twelve_real_agents_fit_into_little_memory() -> None:
    """600 MB pretended free, of which 512 stay free: twelve agents of 30 MB all end well, in their order."""
    command = Command((sys.executable, "-S", "-c", AGENT), "/", {"PATH": os.environ["PATH"]})
    before = get_taken_memory_mb()
    started: list[tuple[float, int]] = []
    least = FREE_MB

    def taken() -> int:
        return max(0, get_taken_memory_mb() - before)

    def available() -> int:
        nonlocal least
        left = FREE_MB - taken()
        least = min(least, left)
        return left

    async def story() -> list[int]:
        clock = SystemClock()
        settings = HostSettings(min_free_memory_mb=KEPT_MB, start_stagger_seconds=STAGGER)
        host = Host(settings, clock, available, taken)
        pool = WorkerPool({"low": PoolSettings(size=4)}, clock)

        async def agent(number: int) -> int:
            async with pool.slot("low", 100) as slot, host.admit("small", 100) as admission:
                started.append((time.monotonic(), number))
                ended = await DefaultCommandRunner().run(command, lambda _: False)
                admission.measured(ended.peak_memory_mb)
                assert slot.memory_mb == 512
                return ended.status

        return await asyncio.gather(*map(agent, range(12)))

    began = time.monotonic()
    assert asyncio.run(story()) == [0] * 12
    assert [number for _, number in started] == list(range(12))
    assert started[-1][0] >= began + 11 * STAGGER
    assert least >= KEPT_MB - 60  # one agent may outgrow what the first of its kind was expected to take
