"""Pools of slots for agents, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from ostler.calls.models.slots import BUILT_IN_POOLS, PoolStats, SlotPool, WorkerPool
from ostler.config.settings import PoolSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.testing.virtual_clock import VirtualClock


def pool_of(**pools: PoolSettings) -> WorkerPool:
    return WorkerPool(pools, VirtualClock(now=0.0))


def test_four_pools_are_built_in() -> None:
    """Size, niceness and memory of each are the documented ones."""
    assert {name: (pool.size, pool.nice, pool.memory_mb) for name, pool in BUILT_IN_POOLS.items()} == {
        "high": (2, 0, 2048),
        "medium": (5, 5, 1024),
        "low": (2, 10, 512),
        "background": (1, 15, 256),
    }


def test_settings_change_what_they_name_and_nothing_else() -> None:
    """One value of a built-in pool is changed, the others stay; a new pool has the small defaults."""
    pools = pool_of(
        high=PoolSettings(size=4), docs=PoolSettings(memory_mb=300), low=PoolSettings(nice=0)
    ).pools
    assert pools["high"] == SlotPool(size=4, nice=0, memory_mb=2048)
    assert pools["low"] == SlotPool(size=2, nice=0, memory_mb=512)
    assert pools["docs"] == SlotPool(size=1, nice=0, memory_mb=300)
    assert pools["medium"] == BUILT_IN_POOLS["medium"]


@pytest.mark.parametrize(
    ("feature", "priority", "expected"),
    [
        ("docs", "P0", "docs"),
        ("background", "P0", "background"),
        ("login", "P0", "high"),
        ("", "P1", "medium"),
        ("", "P4", "background"),
        ("", "high", "high"),
        ("", "low", "low"),
        ("", "background", "background"),
        ("", "P2", "medium"),
        ("", "P3", "low"),
        ("", "", "medium"),
        ("", "urgent", "medium"),
    ],
)
def test_the_pool_is_chosen_by_feature_then_priority(feature: str, priority: str, expected: str) -> None:
    """A pool with the name of the feature is used first, then that of the priority, then medium."""
    assert pool_of(docs=PoolSettings()).pool_name(feature, priority) == expected


def test_a_slot_has_the_limits_of_its_pool() -> None:
    """It has the niceness and memory of the pool, and a unique id."""

    async def scenario() -> None:
        pool = pool_of()
        async with pool.acquire("low", 1) as first, pool.acquire("low", 1) as second:
            assert (first.pool, first.nice, first.memory_mb) == ("low", 10, 512)
            assert first.id != second.id
            assert pool.stats()["low"] == PoolStats(active=2, idle=0, limit=2, queued=0)
        assert pool.stats()["low"] == PoolStats(active=0, idle=2, limit=2, queued=0)

    asyncio.run(scenario())


def test_waiting_in_vain_names_the_pool_and_its_holders() -> None:
    """The error names the pool, its size, the time and the holders."""

    async def scenario() -> OstlerError:
        pool = pool_of(low=PoolSettings(size=2))
        async with pool.acquire("low", 1, "t1"), pool.acquire("low", 1, "t2"):
            with pytest.raises(OstlerError) as caught:
                async with pool.acquire("low", 90, "t3"):
                    pytest.fail("a third place in a pool of two")
        assert pool.stats()["low"].active == 0
        return caught.value

    error = asyncio.run(scenario())
    assert error.code is Code.SLOT_TIMEOUT
    assert error.message == "No slot in pool low was free within 90 s: its 2 slots are held by t1, t2."
    assert "pools.low.size" in error.hint


def test_many_holders_are_not_all_named() -> None:
    """Eight names and a number are enough."""

    async def scenario() -> str:
        pool = pool_of(big=PoolSettings(size=11))
        ends = asyncio.Event()
        here = asyncio.Semaphore(0)

        async def hold(name: str) -> None:
            async with pool.acquire("big", 1, name):
                here.release()
                await ends.wait()

        async with asyncio.TaskGroup() as group:
            for number in range(11):
                group.create_task(hold(f"t{number}"))
            for _ in range(11):
                await here.acquire()
            with pytest.raises(OstlerError) as caught:
                await pool.acquire("big", 1).__aenter__()
            ends.set()
        return caught.value.message

    assert asyncio.run(scenario()).endswith("held by t0, t1, t2, t3, t4, t5, t6, t7 and 3 more.")


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError, KeyboardInterrupt, TimeoutError])
def test_a_place_comes_back_however_its_holder_ends(error: type[BaseException]) -> None:
    """An exception, a cancellation and Ctrl-C release the slot as a normal end does; the error propagates."""

    async def scenario() -> None:
        pool = pool_of()
        with pytest.raises(error):
            async with pool.acquire("background", 1):
                raise error
        async with pool.acquire("background", 0):
            assert pool.stats()["background"].active == 1

    asyncio.run(scenario())


def test_pools_do_not_wait_for_each_other() -> None:
    """A full pool delays no other pool, and waiters are counted."""

    async def scenario() -> None:
        pool = pool_of()
        async with pool.acquire("background", 1):
            waiting = asyncio.create_task(pool.acquire("background", 1000).__aenter__())
            await asyncio.sleep(0)
            assert pool.stats()["background"].queued == 1
            async with pool.acquire("low", 0):
                assert pool.stats()["low"].active == 1
            waiting.cancel()
            await asyncio.wait((waiting,))
        assert pool.stats()["background"] == PoolStats(active=0, idle=1, limit=1, queued=0)

    asyncio.run(scenario())


def test_an_unknown_pool_is_a_mistake_of_the_caller() -> None:
    """The error has its name, and how to add it."""
    with pytest.raises(UsageError, match="no pool nowhere"):
        asyncio.run(pool_of().acquire("nowhere", 1).__aenter__())


def test_changed_settings_apply_to_waiting_calls() -> None:
    """A larger pool serves the waiters at once, a smaller one keeps the slots that are held (C140)."""

    async def scene() -> None:
        pool = pool_of(docs=PoolSettings(size=1))
        entered: list[int] = []
        leave = asyncio.Event()

        async def hold(number: int) -> None:
            async with pool.acquire("docs", 100.0):
                entered.append(number)
                await leave.wait()

        held = [asyncio.create_task(hold(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert entered == [0]
        pool.apply({"docs": PoolSettings(size=2), "new": PoolSettings(size=4)})
        for _ in range(3):
            await asyncio.sleep(0)
        assert entered == [0, 1]
        assert pool.stats()["docs"] == PoolStats(active=2, idle=0, limit=2, queued=1)
        assert pool.pool_name("new", "P2") == "new"
        pool.apply({})
        assert pool.pool_name("docs", "P2") == "medium"
        leave.set()
        await asyncio.gather(*held)
        assert pool.stats()["docs"].active == 0

    asyncio.run(scene())


def test_pools_are_a_table() -> None:
    """A program that passes something else gets the name of the argument."""
    with pytest.raises(UsageError, match="pools: expected a table, got 5"):
        WorkerPool(5)  # type: ignore[arg-type]
