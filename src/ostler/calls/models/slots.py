"""Slots for agents that run at the same time, in pools that differ in size, niceness and memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Container, Mapping
from contextlib import asynccontextmanager
from itertools import count

from msgspec import Struct

from ostler.clock import Clock, SystemClock
from ostler.config.checks.validate import convert_settings
from ostler.config.settings import PoolSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.task import to_priority

_MAX_NAMED_HOLDERS = 8


class SlotPool(Struct, frozen=True):
    """The number of slots of a pool and the limits of each."""

    size: int
    nice: int
    memory_mb: int


BUILT_IN_POOLS = {
    "high": SlotPool(size=2, nice=0, memory_mb=2048),
    "medium": SlotPool(size=5, nice=5, memory_mb=1024),
    "low": SlotPool(size=2, nice=10, memory_mb=512),
    "background": SlotPool(size=1, nice=15, memory_mb=256),
}
_CUSTOM_POOL = SlotPool(size=1, nice=0, memory_mb=1024)
_DEFAULT_POOL = "medium"
_POOL_OF_PRIORITY = {"P0": "high", "P1": "medium", "P2": "medium", "P3": "low", "P4": "background"}


class Slot(Struct, frozen=True):
    """An acquired slot and its limits."""

    id: str  # unique in a run
    pool: str
    nice: int
    memory_mb: int


class PoolStats(Struct, frozen=True):
    active: int
    idle: int
    limit: int
    queued: int


class WorkerPool:
    """Assigns slots, in each pool in the order of the requests."""

    def __init__(
        self, pools: Mapping[str, PoolSettings | Mapping[str, object]] = {}, clock: Clock | None = None
    ) -> None:
        self.pools = _merge_pools(pools)
        self._clock = clock or SystemClock()
        self._semaphores = {name: FairSemaphore(pool.size, self._clock) for name, pool in self.pools.items()}
        self._holders: dict[str, tuple[str, str]] = {}  # slot id -> pool, holder
        self._numbers = count(1)

    def pool_name(self, feature: str, priority: str) -> str:
        """Return the pool with the name of the feature, else that of the priority, else medium."""
        return name_pool(feature, priority, self.pools)

    @asynccontextmanager
    async def acquire(self, name: str, timeout_seconds: float, holder: str = "") -> AsyncGenerator[Slot]:
        """Hold a slot of this pool. Raises SLOT_TIMEOUT, with the name of each holder, if none was free."""
        if name not in self.pools:
            raise UsageError(f"no pool {name}", f"add [pools.{name}] to ostler.toml")
        semaphore, pool = self._semaphores[name], self.pools[name]
        try:
            await semaphore.acquire(timeout_seconds)
        except TimeoutError:
            raise self._timeout_error(name, timeout_seconds) from None
        slot = Slot(f"{name}-{next(self._numbers)}", name, pool.nice, pool.memory_mb)
        self._holders[slot.id] = (name, holder)
        try:
            yield slot
        finally:
            del self._holders[slot.id]
            semaphore.release()

    def apply(self, pools: Mapping[str, PoolSettings]) -> None:
        """Use changed settings; slots that are held stay held."""
        before, self.pools = self.pools, _merge_pools(pools)
        for name, pool in self.pools.items():
            if name not in self._semaphores:
                self._semaphores[name] = FairSemaphore(pool.size, self._clock)
            # A size that did not change may have been reduced after failures.
            elif name not in before or pool.size != before[name].size:
                self._semaphores[name].resize(pool.size)

    def shrink(self, reduce: Callable[[int], int]) -> None:
        """Limit each pool to `reduce(peak)` slots, where peak is the most that were used at once."""
        for semaphore in self._semaphores.values():
            semaphore.shrink(reduce(semaphore.peak))

    def stats(self) -> dict[str, PoolStats]:
        """Return the use of each pool."""
        return {
            name: PoolStats(one.active, max(0, one.limit - one.active), one.limit, one.queued)
            for name, one in self._semaphores.items()
        }

    def describe_wait(self, name: str) -> str:
        """Return what a request for a slot of this pool waits for."""
        return f"a slot in pool {name}, held by {self._list_holders(name)}"

    def _timeout_error(self, name: str, seconds: float) -> OstlerError:
        size = self._semaphores[name].limit
        slots = "its only slot is" if size == 1 else f"its {size} slots are"
        return OstlerError(
            Code.SLOT_TIMEOUT,
            f"No slot in pool {name} was free within {seconds:g} s:"
            f" {slots} held by {self._list_holders(name)}.",
            f"raise pools.{name}.size in ostler.toml, or run fewer tasks at once",
        )

    def _list_holders(self, name: str) -> str:
        holders = [holder or slot for slot, (pool, holder) in self._holders.items() if pool == name]
        more = len(holders) - _MAX_NAMED_HOLDERS
        return ", ".join(holders[:_MAX_NAMED_HOLDERS]) + (f" and {more} more" if more > 0 else "")


def name_pool(feature: str, priority: str, pools: Container[str] = ()) -> str:
    """Return the pool of a task: the one that its feature names, else that of its priority, else medium."""
    if feature and (feature in pools or feature in BUILT_IN_POOLS):
        return feature
    return _POOL_OF_PRIORITY.get(to_priority(priority), _DEFAULT_POOL)


def _merge_pools(pools: Mapping[str, PoolSettings | Mapping[str, object]]) -> dict[str, SlotPool]:
    if not isinstance(pools, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"pools: expected a table, got {pools!r:.80}")
    return {**BUILT_IN_POOLS, **{name: _merge_pool(name, pool) for name, pool in pools.items()}}


def _merge_pool(name: str, given: PoolSettings | Mapping[str, object]) -> SlotPool:
    """Return the built-in pool with the values that the settings change; raises UsageError."""
    settings = convert_settings(PoolSettings, given, f"pools.{name}")
    default = BUILT_IN_POOLS.get(name, _CUSTOM_POOL)
    return SlotPool(
        size=default.size if settings.size is None else settings.size,
        nice=default.nice if settings.nice is None else settings.nice,
        memory_mb=default.memory_mb if settings.memory_mb is None else settings.memory_mb,
    )


class FairSemaphore:
    """A semaphore that serves waiters in order; a release passes the slot to the first waiter."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self.active = 0
        self._peak = 0  # active at once, since the last shrink
        self._clock = clock
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def queued(self) -> int:
        return len(self._waiters)

    @property
    def peak(self) -> int:
        """The most that were active at once; the limit if nothing was acquired yet."""
        return self._peak or self.limit

    def shrink(self, limit: int) -> None:
        """Lower the limit, to 1 at least; slots that are held stay held."""
        self.limit = max(1, min(limit, self.limit))
        self._peak = min(self._peak, self.limit)

    def resize(self, limit: int) -> None:
        """Change the limit; a higher one serves waiters at once."""
        self.limit = limit
        while self._waiters and self.active < self.limit:
            self.active += 1
            self._peak = max(self._peak, self.active)
            self.release()

    async def acquire(self, timeout_seconds: float) -> None:
        """Take a slot. Raises TimeoutError. Each acquire that returned needs one release."""
        if self.active < self.limit:
            self.active += 1
            self._peak = max(self._peak, self.active)
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await wait_for(waiter, timeout_seconds, self._clock)
        except asyncio.CancelledError:
            # The slot may have been passed on at the moment of the cancellation.
            if _has_slot(waiter):
                self.release()
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)

    def release(self) -> None:
        """Return a slot; it is not passed on while more slots are active than the limit allows."""
        while self._waiters and self.active <= self.limit:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.active -= 1


async def wait_for(future: asyncio.Future[None], timeout_seconds: float, clock: Clock) -> None:
    """Wait for the future. Raises TimeoutError after so many seconds of this clock."""
    timer = asyncio.ensure_future(clock.sleep(timeout_seconds))
    timer.add_done_callback(lambda _: future.done() or future.set_exception(TimeoutError()))
    try:
        await future
    finally:
        timer.cancel()


def _has_slot(waiter: asyncio.Future[None]) -> bool:
    return waiter.done() and not waiter.cancelled() and waiter.exception() is None


WorkerPoolManager = WorkerPool  # its name in seed 000
