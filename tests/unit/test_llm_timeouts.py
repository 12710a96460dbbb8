"""Total timeout, idle timeout, abort and cancellation."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from ostler.errors import Code
from ostler.llm.client import ClaudeRequest
from ostler.llm.failure import ModelError
from ostler.llm.timeouts import cancellable_sleep, enforce_timeouts
from ostler.testing.virtual_clock import VirtualClock

Received = Callable[[], None]
T = TypeVar("T")


class Instant(selectors.DefaultSelector):
    """An event loop whose clock advances instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0 if timeout is not None else None)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine with asyncio without waiting."""

    def make_loop() -> asyncio.AbstractEventLoop:
        selector = Instant()
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now
        return loop

    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main)


def request(total: float = 60.0, idle: float = 60.0, signal: asyncio.Event | None = None) -> ClaudeRequest:
    return ClaudeRequest("", "", "m", timeout_seconds=total, idle_timeout_seconds=idle, signal=signal)


async def held(requested: ClaudeRequest, work: Callable[[Received], Awaitable[object]]) -> Code | None:
    """Return how the work ends within the limits of the request; no task may be left."""
    others = asyncio.all_tasks()
    try:
        async with enforce_timeouts(requested) as observed:
            await work(observed)
    except ModelError as error:
        return error.code
    finally:
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == others
    return None


async def speak(observed: Received, times: int, every: float) -> None:
    for _ in range(times):
        await asyncio.sleep(every)
        observed()


def test_silence_ends_it_early() -> None:
    """Without events the idle timeout applies, which is retried."""
    assert run(held(request(idle=0.05), lambda _: asyncio.sleep(60))) is Code.NETWORK


def test_events_do_not_extend_the_whole() -> None:
    """With continuous events the total timeout applies."""
    requested = request(total=0.2, idle=0.1)
    assert run(held(requested, lambda observed: speak(observed, 1000, 0.01))) is Code.TIMEOUT


def test_each_event_restarts_the_idle_timeout() -> None:
    """Each event restarts the idle timeout."""
    requested = request(idle=0.5)
    assert run(held(requested, lambda observed: speak(observed, 60, 0.01))) is None


def test_an_abort_is_final_and_not_a_timeout() -> None:
    """C54: an abort is ABORTED, also when an event follows."""

    async def abort_midway() -> Code | None:
        abort = asyncio.Event()

        async def work(observed: Received) -> None:
            await speak(observed, 3, 0.01)
            abort.set()
            await speak(observed, 1000, 0.01)

        return await held(request(signal=abort), work)

    assert run(abort_midway()) is Code.ABORTED


def test_an_abort_before_the_start_starts_nothing() -> None:
    """C53: the work is not started."""

    async def abort_first() -> Code | None:
        abort = asyncio.Event()
        abort.set()

        async def work(observed: Received) -> None:
            pytest.fail("the work was begun")

        return await held(request(signal=abort), work)

    assert run(abort_first()) is Code.ABORTED


def test_an_event_that_is_never_set_changes_nothing() -> None:
    """The task that watches the abort ends with the work."""

    async def unaborted() -> Code | None:
        return await held(request(signal=asyncio.Event()), lambda observed: speak(observed, 2, 0.01))

    assert run(unaborted()) is None


def test_cancellation_stays_cancellation() -> None:
    """A cancellation raises CancelledError."""

    async def cancel() -> None:
        running = asyncio.create_task(held(request(), lambda _: asyncio.sleep(60)))
        await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(cancel())


def test_a_timeout_of_the_work_itself_is_not_changed() -> None:
    """A TimeoutError of the work is not changed."""

    async def work(observed: Received) -> None:
        raise TimeoutError("of the disk")

    with pytest.raises(TimeoutError, match="of the disk"):
        run(held(request(), work))


def test_sleep_ends_at_once_when_aborted() -> None:
    """C55: an abort before or during the sleep ends it."""

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


def test_sleep_leaves_no_waiter() -> None:
    """D.5.5 of the seeds: no task or waiter is left."""

    async def many() -> tuple[set[asyncio.Task[Any]], int]:
        stop, clock = asyncio.Event(), VirtualClock()
        for _ in range(100):
            await cancellable_sleep(3600.0, stop, clock)
        return asyncio.all_tasks() - {asyncio.current_task()}, len(stop._waiters)  # pyright: ignore

    assert asyncio.run(many()) == (set(), 0)


def test_sleep_uses_the_clock_that_it_is_given() -> None:
    """The sleep uses the clock, and not at all when the event is set."""

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
    """A cancellation is not an abort, and no task is left."""

    async def cancel() -> None:
        stop = asyncio.Event()
        sleeping = asyncio.create_task(cancellable_sleep(3600.0, stop))
        await asyncio.sleep(0)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancel())
