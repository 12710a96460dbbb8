"""Deadlines, silence, abort and cancellation are four different endings."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from ostler.errors import Code
from ostler.llm.client import ClaudeRequest
from ostler.llm.failure import ModelError
from ostler.llm.patience import cancellable_sleep, patience
from ostler.testing.virtual_clock import VirtualClock

Heard = Callable[[], None]
T = TypeVar("T")


class Instant(selectors.DefaultSelector):
    """Waiting takes no time: the clock of its loop moves on instead, so that no busy machine can be late."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0 if timeout is not None else None)


def run(main: Coroutine[Any, Any, T]) -> T:
    """asyncio.run, in no time."""

    def make_loop() -> asyncio.AbstractEventLoop:
        selector = Instant()
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now
        return loop

    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main)


def request(total: float = 60.0, idle: float = 60.0, abort: asyncio.Event | None = None) -> ClaudeRequest:
    return ClaudeRequest("", "", "m", timeout_seconds=total, idle_timeout_seconds=idle, abort=abort)


async def held(asked: ClaudeRequest, work: Callable[[Heard], Awaitable[object]]) -> Code | None:
    """How the work ends when it is held to the request's limits; nothing may be left running."""
    others = asyncio.all_tasks()
    try:
        async with patience(asked) as heard:
            await work(heard)
    except ModelError as error:
        return error.code
    finally:
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == others
    return None


async def speak(heard: Heard, times: int, every: float) -> None:
    for _ in range(times):
        await asyncio.sleep(every)
        heard()


def test_silence_ends_it_early() -> None:
    """Nothing comes: the idle deadline, which is retryable."""
    assert run(held(request(idle=0.05), lambda _: asyncio.sleep(60))) is Code.IDLE_TIMEOUT


def test_talk_does_not_outlast_the_whole() -> None:
    """Something comes all the time: the total deadline."""
    asked = request(total=0.2, idle=0.1)
    assert run(held(asked, lambda heard: speak(heard, 1000, 0.01))) is Code.TIMEOUT


def test_each_sign_of_life_is_a_new_beginning() -> None:
    """Longer than the idle deadline in all, but never silent for that long."""
    asked = request(idle=0.5)
    assert run(held(asked, lambda heard: speak(heard, 60, 0.01))) is None


def test_an_abort_is_final_and_not_a_timeout() -> None:
    """C54: the caller's abort during the work is ABORTED, and no later sign of life revokes it."""

    async def abort_midway() -> Code | None:
        abort = asyncio.Event()

        async def work(heard: Heard) -> None:
            await speak(heard, 3, 0.01)
            abort.set()
            await speak(heard, 1000, 0.01)

        return await held(request(abort=abort), work)

    assert run(abort_midway()) is Code.ABORTED


def test_an_abort_before_the_start_starts_nothing() -> None:
    """C53: the work is not even begun."""

    async def abort_first() -> Code | None:
        abort = asyncio.Event()
        abort.set()

        async def work(heard: Heard) -> None:
            pytest.fail("the work was begun")

        return await held(request(abort=abort), work)

    assert run(abort_first()) is Code.ABORTED


def test_an_event_that_is_never_set_changes_nothing() -> None:
    """The watcher of an abort goes away with the work."""

    async def unaborted() -> Code | None:
        return await held(request(abort=asyncio.Event()), lambda heard: speak(heard, 2, 0.01))

    assert run(unaborted()) is None


def test_cancellation_stays_cancellation() -> None:
    """Stopping the task is neither a timeout nor an abort: CancelledError goes on."""

    async def cancel() -> None:
        running = asyncio.create_task(held(request(), lambda _: asyncio.sleep(60)))
        await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(cancel())


def test_a_timeout_of_the_work_itself_is_not_ours() -> None:
    """A TimeoutError from inside goes on as it is."""

    async def work(heard: Heard) -> None:
        raise TimeoutError("of the disk")

    with pytest.raises(TimeoutError, match="of the disk"):
        run(held(request(), work))


def test_sleep_ends_at_once_when_aborted() -> None:
    """C55: before it begins, and in the middle of it; without an abort it lasts as long as asked."""

    async def sleeps() -> None:
        abort = asyncio.Event()
        await cancellable_sleep(0.01, abort)
        await cancellable_sleep(0.01)
        asyncio.get_running_loop().call_later(0.02, abort.set)
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                await asyncio.wait_for(cancellable_sleep(60, abort), 10)
            assert caught.value.code is Code.ABORTED
        with pytest.raises(ModelError):
            await cancellable_sleep(0, abort)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(sleeps())


def test_sleep_leaves_nobody_waiting() -> None:
    """D.5.5 of the seeds: however often it slept, nothing listens to the event or lives on."""

    async def many() -> tuple[set[asyncio.Task[Any]], int]:
        stop, clock = asyncio.Event(), VirtualClock()
        for _ in range(100):
            await cancellable_sleep(3600.0, stop, clock)
        return asyncio.all_tasks() - {asyncio.current_task()}, len(stop._waiters)  # pyright: ignore

    assert asyncio.run(many()) == (set(), 0)


def test_sleep_goes_by_the_clock_that_it_is_given() -> None:
    """Retries take no wall time in tests; an event that is set before leaves the clock alone."""

    async def by_clock() -> list[float]:
        clock, stop = VirtualClock(), asyncio.Event()
        await cancellable_sleep(5.0, None, clock)
        await cancellable_sleep(7.0, stop, clock)
        stop.set()
        with pytest.raises(ModelError):
            await cancellable_sleep(9.0, stop, clock)
        return clock.slept

    assert asyncio.run(by_clock()) == [5.0, 7.0]


def test_a_cancelled_sleep_is_cancelled() -> None:
    """Stopping the task is no abort, and leaves nothing behind either."""

    async def cancel() -> None:
        stop = asyncio.Event()
        sleeping = asyncio.create_task(cancellable_sleep(3600.0, stop))
        await asyncio.sleep(0)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancel())
