"""An idle worker notices what another process writes to the journal, long before its next poll."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.task import Output, Task
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.running import worker as worker_module
from ostler.project.running.worker import Worker
from ostler.testing.mocks import MockExecutor

LONG_SECONDS = 600.0


def test_an_idle_worker_starts_a_new_task_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a look at the journal between two polls it would start ten minutes later."""
    monkeypatch.setattr(worker_module, "_POLL_SECONDS", LONG_SECONDS)
    began = time.monotonic()
    asyncio.run(run_worker(tmp_path))
    assert time.monotonic() - began < LONG_SECONDS / 2


def test_what_is_written_at_the_end_of_a_run_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that is added after the last look at the list, before the worker waits, starts at once."""
    monkeypatch.setattr(worker_module, "_POLL_SECONDS", LONG_SECONDS)
    try_due = Worker._try_due

    async def try_due_and_add(self: Worker) -> None:
        await try_due(self)
        with Project.open(tmp_path, {}) as other:
            if len(other.tasks()) == 1:
                other.add(Task("Say goodbye", weight="trivial", output=Output("outputs/goodbye.md")))

    monkeypatch.setattr(Worker, "_try_due", try_due_and_add)
    began = time.monotonic()
    asyncio.run(run_worker(tmp_path, calls=2))
    assert time.monotonic() - began < LONG_SECONDS / 2


async def run_worker(root: Path, calls: int = 1) -> None:
    left, called = calls, asyncio.Event()

    async def answer(call: AgentCall, on_event: OnEvent) -> CallResult:
        nonlocal left
        left -= 1
        if not left:
            called.set()
        return CallResult(None, text="done", session_id=call.session_id)

    registry = ExecutorRegistry()
    registry.register(
        "model_api", lambda name, settings, runner: MockExecutor(name, spawn_function=answer), replaces=True
    )
    Project.open(root, {}, create=True).journal.close()
    with Project.open(root, {}) as project, Project.open(root, {}) as other:
        async with Ostler(project, {}, executors=registry) as ostler:
            worker = Worker(ostler, lambda _: None)
            running = asyncio.create_task(worker.run())
            await asyncio.sleep(0.3)  # it is idle
            other.add(Task("Say hello", weight="trivial", output=Output("outputs/hello.md")))
            await asyncio.wait_for(called.wait(), 60)
            worker.stop()
            await running
