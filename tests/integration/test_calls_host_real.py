"""Real programs, started one after the other with little memory pretended to be free."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import pytest

from ostler.calls.host import Host, get_used_memory_mb
from ostler.calls.models.slots import WorkerPool
from ostler.clock import SystemClock
from ostler.config.settings import HostSettings, PoolSettings
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner

AGENT = "hoard = b'x' * (30 << 20); import time; time.sleep(0.3)"
FREE_MB, KEPT_MB, STAGGER = 600, 512, 0.02


@pytest.mark.full
def test_twelve_real_agents_fit_into_little_memory() -> None:
    """600 MB pretended free, 512 must stay free: twelve agents of 30 MB all succeed, in order."""
    command = Command((sys.executable, "-S", "-c", AGENT), "/", {"PATH": os.environ["PATH"]})
    before = get_used_memory_mb()
    started: list[tuple[float, int]] = []
    least = FREE_MB

    def taken() -> int:
        return max(0, get_used_memory_mb() - before)

    def available() -> int:
        nonlocal least
        left = FREE_MB - taken()
        least = min(least, left)
        return left

    async def scenario() -> list[int]:
        clock = SystemClock()
        settings = HostSettings(min_free_memory_mb=KEPT_MB, start_stagger_seconds=STAGGER)
        host = Host(settings, clock, available, taken)
        pool = WorkerPool({"low": PoolSettings(size=4)}, clock)

        async def agent(number: int) -> int:
            async with pool.acquire("low", 100) as slot, host.reserve("small", 100) as admission:
                started.append((time.monotonic(), number))
                ended = await DefaultCommandRunner().run(command, lambda _: False)
                admission.peak_mb = ended.peak_memory_mb
                assert slot.memory_mb == 512
                return ended.status

        return await asyncio.gather(*map(agent, range(12)))

    began = time.monotonic()
    assert asyncio.run(scenario()) == [0] * 12
    assert [number for _, number in started] == list(range(12))
    assert started[-1][0] >= began + 11 * STAGGER
    assert least >= KEPT_MB - 60  # one agent may use more than the first of its executor was expected to
