"""Places for agents that run at the same time, in pools that differ in size, niceness and memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count

from msgspec import Struct

from ostler.clock import Clock
from ostler.config.settings import PoolSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.worker.line import Line

_NAMED = 8  # holders that a message names


class Pool(Struct, frozen=True):
    """What each place of a pool is like, and how many there are."""

    size: int
    nice: int
    memory_mb: int


BUILT_IN = {
    "high": Pool(size=2, nice=0, memory_mb=2048),
    "medium": Pool(size=5, nice=5, memory_mb=1024),
    "low": Pool(size=2, nice=10, memory_mb=512),
    "background": Pool(size=1, nice=15, memory_mb=256),
}
_OTHER = Pool(size=1, nice=0, memory_mb=1024)
_DEFAULT = "medium"
_OF_PRIORITY = {"P0": "high", "P1": "medium", "P2": "medium", "P3": "low"}


class Slot(Struct, frozen=True):
    """A place that is held, and what goes for who works in it."""

    id: str  # never given twice in a run
    pool: str
    nice: int
    memory_mb: int


class PoolStats(Struct, frozen=True):
    active: int
    idle: int
    limit: int
    queued: int


class WorkerPool:
    """Gives out places, in each pool to those who asked first."""

    def __init__(self, pools: Mapping[str, PoolSettings], clock: Clock) -> None:
        self.pools = {**BUILT_IN, **{name: _settle(name, pool) for name, pool in pools.items()}}
        self._lines = {name: Line(pool.size, clock) for name, pool in self.pools.items()}
        self._held: dict[str, tuple[str, str]] = {}  # slot -> its pool and its holder
        self._numbers = count(1)

    def pool_name(self, feature: str, priority: str) -> str:
        """The pool named like the feature, else the one for the priority, else medium."""
        return feature if feature in self.pools else _OF_PRIORITY.get(priority, _DEFAULT)

    @asynccontextmanager
    async def slot(self, name: str, timeout_seconds: float, holder: str = "") -> AsyncGenerator[Slot]:
        """Hold a place of this pool; SLOT_TIMEOUT when none came in time, which names each `holder`."""
        if name not in self.pools:
            raise UsageError(f"There is no pool {name}.", f"add [pools.{name}] to ostler.toml")
        line, pool = self._lines[name], self.pools[name]
        try:
            await line.enter(timeout_seconds)
        except TimeoutError:
            raise self._none_free(name, timeout_seconds) from None
        slot = Slot(f"{name}-{next(self._numbers)}", name, pool.nice, pool.memory_mb)
        self._held[slot.id] = (name, holder)
        try:
            yield slot
        finally:
            del self._held[slot.id]
            line.leave()

    def narrow(self, left: Callable[[int], int]) -> None:
        """Have fewer places in each pool: as many as `left` makes of those that were in use."""
        for line in self._lines.values():
            line.narrow(left(line.used))

    def stats(self) -> dict[str, PoolStats]:
        """How full each pool is."""
        return {
            name: PoolStats(line.taken, max(0, line.places - line.taken), line.places, line.queued)
            for name, line in self._lines.items()
        }

    def _none_free(self, name: str, seconds: float) -> OstlerError:
        size = self._lines[name].places
        places = "its one place is" if size == 1 else f"its {size} places are"
        held = f"{places} held by {self._holders(name)}"
        return OstlerError(
            Code.SLOT_TIMEOUT,
            f"No place in pool {name} came free within {seconds:g} s: {held}.",
            f"raise pools.{name}.size in ostler.toml, or run fewer tasks at once",
        )

    def _holders(self, name: str) -> str:
        held = [holder or slot for slot, (pool, holder) in self._held.items() if pool == name]
        more = len(held) - _NAMED
        return ", ".join(held[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _settle(name: str, given: PoolSettings) -> Pool:
    """What the settings leave open stays as it is built in."""
    usual = BUILT_IN.get(name, _OTHER)
    return Pool(
        size=usual.size if given.size is None else given.size,
        nice=usual.nice if given.nice is None else given.nice,
        memory_mb=usual.memory_mb if given.memory_mb is None else given.memory_mb,
    )


WorkerPoolManager = WorkerPool  # its name in seed 000
