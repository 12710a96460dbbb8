"""Enforces the timeouts and the abort of a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from ostler.clock import Clock, SystemClock
from ostler.errors import Code
from ostler.llm.client import ClaudeRequest
from ostler.llm.failure import ModelError

_CLOCK = SystemClock()


@asynccontextmanager
async def enforce_timeouts(request: ClaudeRequest) -> AsyncGenerator[Callable[[], None]]:
    """End the block at a timeout or the abort of the request; call the yielded function after each event."""
    loop = asyncio.get_running_loop()
    end = loop.time() + request.timeout_seconds

    def next_deadline() -> float:
        return min(end, loop.time() + request.idle_timeout_seconds)

    def extend_timeout() -> None:
        if not timer.expired() and not _is_aborted(request.signal):
            timer.reschedule(next_deadline())

    if _is_aborted(request.signal):
        raise make_abort_error()
    timer = asyncio.timeout_at(next_deadline())
    try:
        async with timer, _watch_abort(request.signal, timer):
            yield extend_timeout
    except TimeoutError:
        if not timer.expired():
            raise
        raise _timeout_error(request, loop.time() >= end) from None


async def cancellable_sleep(seconds: float, stop: asyncio.Event | None = None, clock: Clock = _CLOCK) -> None:
    """Wait; raise ModelError with ABORTED when the event is set."""
    if stop is None:
        return await clock.sleep(seconds)
    if not stop.is_set():
        await _first_of(clock.sleep(seconds), stop.wait())
    if stop.is_set():
        raise make_abort_error()
    return None


async def _first_of(*waits: Awaitable[object]) -> None:
    """Return when one has finished, and cancel the others."""
    waiting = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def make_abort_error() -> ModelError:
    """Return the error of an aborted request."""
    return ModelError(Code.ABORTED, "the request was aborted by its caller")


def _is_aborted(abort: asyncio.Event | None) -> bool:
    return abort is not None and abort.is_set()


def _timeout_error(request: ClaudeRequest, is_total: bool) -> ModelError:
    if _is_aborted(request.signal):
        return make_abort_error()
    if is_total:
        return ModelError(Code.TIMEOUT, f"the answer took longer than {request.timeout_seconds:g} s")
    # The provider is silent: no task causes that, so it is not IDLE_TIMEOUT, which counts against the task.
    return ModelError(Code.NETWORK, f"no part of the answer arrived for {request.idle_timeout_seconds:g} s")


@asynccontextmanager
async def _watch_abort(abort: asyncio.Event | None, timer: asyncio.Timeout) -> AsyncGenerator[None]:
    watcher = asyncio.create_task(_expire_on_abort(abort, timer)) if abort is not None else None
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


async def _expire_on_abort(abort: asyncio.Event, timer: asyncio.Timeout) -> None:
    await abort.wait()
    if not timer.expired():
        timer.reschedule(asyncio.get_running_loop().time())
