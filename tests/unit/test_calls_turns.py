"""Tasks that can continue together share the event loop with timers; their results are the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from ostler.calls.turns import take_turns

STEP_SECONDS = 0.004


def start(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(take_turns(work))


@pytest.mark.parametrize("create", [start, asyncio.create_task])
def test_a_timer_waits_for_one_step_and_not_for_all(create: Any) -> None:
    """Twenty tasks continue at once; tasks without turns are the control."""
    gate, done = asyncio.Event(), list[int]()

    async def step(number: int) -> None:
        await gate.wait()
        busy_until = time.perf_counter() + STEP_SECONDS
        while time.perf_counter() < busy_until:
            pass
        done.append(number)

    async def run() -> int:
        tasks = [create(step(number)) for number in range(20)]
        for _ in range(100):  # each task waits for the gate
            await asyncio.sleep(0)
        timer = asyncio.get_running_loop().create_future()
        gate.set()
        asyncio.get_running_loop().call_later(0.001, lambda: timer.set_result(len(done)))
        seen = await timer
        await asyncio.gather(*tasks)
        assert done == [*range(20)]  # in order: none waits longer than the others
        return seen

    seen = asyncio.run(run())
    assert seen == 20 if create is asyncio.create_task else seen <= 2


def test_results_and_errors_are_those_of_the_work() -> None:
    """What it returns and raises, and what it is given."""

    async def work() -> str:
        assert await asyncio.sleep(0, "value") == "value"
        with pytest.raises(KeyError):
            await fail()
        async with asyncio.timeout(5):
            return await asyncio.to_thread(lambda: "done")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def run() -> None:
        assert await start(work()) == "done"
        with pytest.raises(KeyError, match="x"):
            await start(fail())
        assert await take_turns(work()) == "done"

    asyncio.run(run())


@pytest.mark.parametrize("delay_turns", range(6))
def test_a_cancelled_task_gets_the_cancellation_with_its_message(delay_turns: int) -> None:
    """Before it begins, while it waits for its turn, and while it waits for something else."""
    seen = list[str]()

    async def work() -> None:
        seen.append("began")
        try:
            for _ in range(10):
                await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            seen.append(str(error))
            raise

    async def busy() -> None:
        for _ in range(30):
            time.sleep(0.002)  # longer than the budget of a turn
            await asyncio.sleep(0)

    async def run() -> None:
        others = [start(busy()) for _ in range(3)]
        task = start(work())
        for _ in range(delay_turns):
            await asyncio.sleep(0)
        task.cancel("now")
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.gather(*others)  # nobody waits for the turn of a cancelled task

    asyncio.run(run())
    assert seen in ([], ["began", "now"])
    assert seen == [] or delay_turns > 0


def test_a_task_that_continues_after_a_cancellation_keeps_its_turns() -> None:
    """Its cleanup may wait, as the stop of an agent does."""

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.001)
        return "cleaned up"

    async def run() -> str:
        task = start(work())
        await asyncio.sleep(0.001)
        task.cancel()
        return await task

    assert asyncio.run(run()) == "cleaned up"


@pytest.mark.filterwarnings("error")
def test_a_task_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    """The coroutine counts as awaited, as in a task without turns."""

    async def run() -> None:
        task = start(asyncio.sleep(1))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
