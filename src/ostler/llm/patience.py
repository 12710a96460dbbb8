"""How long an answer is waited for: not too long in all, not too long in silence, not after an abort."""

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
async def patience(request: ClaudeRequest) -> AsyncGenerator[Callable[[], None]]:
    """Ends the block at a deadline or the abort of the request; call what it gives when something came."""
    loop = asyncio.get_running_loop()
    end = loop.time() + request.timeout_seconds

    def reach() -> float:
        return min(end, loop.time() + request.idle_timeout_seconds)

    def heard() -> None:
        if not timer.expired() and not _unwanted(request.abort):
            timer.reschedule(reach())

    if _unwanted(request.abort):
        raise aborted()
    timer = asyncio.timeout_at(reach())
    try:
        async with timer, _watching(request.abort, timer):
            yield heard
    except TimeoutError:
        if not timer.expired():
            raise
        raise _too_late(request, loop.time() >= end) from None


async def cancellable_sleep(seconds: float, stop: asyncio.Event | None = None, clock: Clock = _CLOCK) -> None:
    """Wait; raises ModelError with ABORTED the moment that the event is set, or at once when it is."""
    if stop is None:
        return await clock.sleep(seconds)
    if not stop.is_set():
        await _first_of(clock.sleep(seconds), stop.wait())
    if stop.is_set():
        raise aborted()
    return None


async def _first_of(*waits: Awaitable[object]) -> None:
    """Return when one of them is over; the others are then gone."""
    waiting = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def aborted() -> ModelError:
    return ModelError(Code.ABORTED, "the request was aborted by its caller")


def _unwanted(abort: asyncio.Event | None) -> bool:
    return abort is not None and abort.is_set()


def _too_late(request: ClaudeRequest, whole: bool) -> ModelError:
    if _unwanted(request.abort):
        return aborted()
    if whole:
        return ModelError(Code.TIMEOUT, f"the answer took longer than {request.timeout_seconds:g} s")
    return ModelError(Code.IDLE_TIMEOUT, f"nothing of the answer came for {request.idle_timeout_seconds:g} s")


@asynccontextmanager
async def _watching(abort: asyncio.Event | None, timer: asyncio.Timeout) -> AsyncGenerator[None]:
    watcher = asyncio.create_task(_end_at(abort, timer)) if abort is not None else None
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


async def _end_at(abort: asyncio.Event, timer: asyncio.Timeout) -> None:
    await abort.wait()
    if not timer.expired():
        timer.reschedule(asyncio.get_running_loop().time())
