"""A worker asks for a task only while it can run one more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from ostler.engine.temporal.slots import TaskSlots


def ask(slots: TaskSlots, queue: str = "q") -> asyncio.Task[Any]:
    return asyncio.create_task(slots.reserve_slot(SimpleNamespace(task_queue=queue)))  # type: ignore


async def settle() -> None:
    await asyncio.sleep(0.15)


def test_the_poller_of_a_queue_waits_for_its_last_task() -> None:
    """It asks again before its last slot is marked; its open poll would take a task from others."""

    async def scene() -> None:
        slots = TaskSlots(lambda running: running < 1)
        permit = await ask(slots)
        again = ask(slots)
        await settle()
        assert not again.done()
        slots.mark_slot_used(SimpleNamespace(permit=permit))  # type: ignore
        await settle()
        assert not again.done()
        slots.release_slot(SimpleNamespace(permit=permit))  # type: ignore
        await settle()
        assert again.done()

    asyncio.run(scene())


def test_each_queue_is_asked_while_a_job_is_free() -> None:
    """A worker with one job and labels would otherwise poll one of its queues."""

    async def scene() -> None:
        slots = TaskSlots(lambda running: running < 1)
        await ask(slots, "q")
        permit = await ask(slots, "q.gpu")
        slots.release_slot(SimpleNamespace(permit=permit))  # type: ignore
        await ask(slots, "q.gpu")

    asyncio.run(asyncio.wait_for(scene(), 5))
