"""Many agents on a small machine: they queue in their order, start one after the other, and none fails."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from models_world import add_tasks, play, row, write_models
from ostler.calls.models.slots import Slot, WorkerPool
from ostler.model.outcome import Outcome
from ostler.process.memory import estimate_memory_kb, list_descendants
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from world import World

COUNT = 200 if os.environ.get("OSTLER_FULL") else 40
FREE_MB, STAGGER = 1024, 0.01
SETTINGS = f"""
[pools.medium]
size = {COUNT // 2}
[host]
min_free_memory_mb = 512
start_stagger_seconds = {STAGGER}
"""


@pytest.mark.one_machine("the test patches the process that runs the tasks")
@pytest.mark.full
@pytest.mark.timeout(600)
def test_no_agent_fails_for_want_of_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 GB pretended free, twice as many tasks as slots: FIFO, staggered, and `status` still answers."""
    write_models(world, row("gpt", "codex"), more=SETTINGS)
    play(world, "codex", delay_seconds=0.5)
    monkeypatch.setenv("OSTLER_CODEX_PATH", world.environ["OSTLER_CODEX_PATH"])
    tasks = add_tasks(world, COUNT)
    least = pretend_memory(world, monkeypatch)
    asked, given = watch_places(monkeypatch)
    outcomes, seconds = asyncio.run(run_and_ask(world))
    assert {(outcome.code, outcome.message) for outcome in outcomes} == {(None, "")}
    assert len(world.started()) == COUNT
    assert len(seconds) > 0 and max(seconds) < 10, seconds
    assert min(least) < FREE_MB  # positive control: the agents are counted
    assert min(least) >= 512 - 300  # the first of its kind may be larger than expected
    assert sorted(asked) == sorted(tasks)
    assert given == asked
    check_stagger(world.events())


def pretend_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pretend that 1 GB is free, less what the agents use; return what was free at each check."""
    seen = list[int]()

    def virtual_memory() -> SimpleNamespace:
        seen.append(FREE_MB - measure_agents_mb(world))
        return SimpleNamespace(available=seen[-1] * 2**20)

    monkeypatch.setattr("ostler.calls.host._MEMINFO", Path("/nowhere"))  # as on macOS
    monkeypatch.setattr(psutil, "virtual_memory", virtual_memory)
    return seen


def measure_agents_mb(world: World) -> int:
    """Return the memory of the agents alone; a fork of pytest for `ostler status` is much larger."""
    agents: list[int] = []
    for pid in list_descendants(os.getpid()):
        with suppress(psutil.Error):
            if psutil.Process(pid).environ().get("OSTLER_PROJECT") == str(world.root):
                agents.append(pid)
    return estimate_memory_kb(agents) // 1024


async def run_and_ask(world: World) -> tuple[list[Outcome], list[float]]:
    """Run all tasks at once; return how long each `ostler status` took meanwhile."""
    project, over, seconds = Project.open(world.root, world.environ), Event(), list[float]()
    asking = Thread(target=ask_until, args=(over, world, seconds))
    asking.start()
    try:
        async with Ostler(project, world.environ) as ostler:
            return await ostler.run_all(jobs=COUNT), seconds
    finally:
        over.set()
        asking.join()


def ask_until(over: Event, world: World, seconds: list[float]) -> None:
    command = [sys.executable, "-m", "ostler", "status", "--json"]
    while not over.wait(0.3):
        began = time.monotonic()
        subprocess.run(
            command, cwd=world.root, env=world.environ, check=True, capture_output=True, timeout=100
        )
        seconds.append(time.monotonic() - began)


def watch_places(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Return which calls requested a slot of the pool, and which got one, each in order."""
    asked, given, acquire = list[str](), list[str](), WorkerPool.acquire

    @asynccontextmanager
    async def watched(pool: WorkerPool, name: str, seconds: float, holder: str = "") -> AsyncGenerator[Slot]:
        asked.append(holder)
        async with acquire(pool, name, seconds, holder) as held:
            given.append(holder)
            yield held

    monkeypatch.setattr(WorkerPool, "acquire", watched)
    return asked, given


def check_stagger(events: list[dict[str, Any]]) -> None:
    """Never two at the same moment: the starts took at least as long as the delays between them."""
    times = [datetime.fromisoformat(event["time"]) for event in events if event["type"] == "attempt_started"]
    assert (max(times) - min(times)).total_seconds() >= 0.8 * STAGGER * (len(times) - 1)
