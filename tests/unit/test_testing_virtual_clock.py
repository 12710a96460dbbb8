"""Sleeping in virtual time."""

from __future__ import annotations

import asyncio
import time

from ostler.testing.virtual_clock import VirtualClock


def test_waiters_wake_in_the_order_of_their_times() -> None:
    """Three waits of hours take no real time and end shortest first."""
    clock = VirtualClock(now=0.0)
    woken: list[tuple[str, float]] = []

    async def wait(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    async def all_three() -> None:
        await asyncio.gather(wait("c", 7200), wait("a", 1), wait("b", 3600))

    began = time.monotonic()
    asyncio.run(all_three())
    assert woken == [("a", 1.0), ("b", 3600.0), ("c", 7200.0)]
    assert time.monotonic() - began < 5


def test_a_cancelled_waiter_moves_no_time() -> None:
    """A cancelled sleep does not happen."""
    clock = VirtualClock(now=0.0)

    async def history() -> None:
        waiter = asyncio.create_task(clock.sleep(1000))
        await asyncio.sleep(0)
        waiter.cancel()
        await clock.sleep(5)

    asyncio.run(history())
    assert clock.now() == 5.0
