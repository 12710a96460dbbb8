"""Starts agents one after the other, each when the machine has enough free memory for it."""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ostler.calls.models.slots import FairSemaphore, wait_for
from ostler.clock import Clock
from ostler.config.settings import HostSettings
from ostler.errors import Code, OstlerError
from ostler.process.cgroup import available_memory_mb
from ostler.process.memory import estimate_memory_kb, list_descendants

DEFAULT_FOOTPRINT_MB = 256  # of an agent, before one of its executor was measured
_MEMINFO = Path("/proc/meminfo")
_AVAILABLE = re.compile(rb"^MemAvailable: +(\d+) kB$", re.MULTILINE)
_POLL_SECONDS = 0.5  # between two checks of the memory while a start waits for it


def get_available_memory_mb() -> int | None:
    """Return the memory that can be used without swapping; None if the system does not report it."""
    try:
        found = _AVAILABLE.search(_MEMINFO.read_bytes())
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) // 1024
    import psutil  # noqa: PLC0415  (only where there is no /proc)

    try:
        return psutil.virtual_memory().available // 2**20
    except (psutil.Error, OSError, NotImplementedError, RuntimeError, ValueError):
        return None


def get_free_memory_mb() -> int | None:
    """Return the available memory of the machine or of the container, whichever is less."""
    values = [mb for mb in (get_available_memory_mb(), available_memory_mb()) if mb is not None]
    return min(values, default=None)


def get_used_memory_mb() -> int:
    """Return the memory that all descendants of this process use now."""
    return estimate_memory_kb(list_descendants(os.getpid())) // 1024


class Reservation:
    """The memory of one agent from its start until its attempt has ended."""

    def __init__(self, executor: str, footprint_mb: int) -> None:
        self.executor = executor
        self.footprint_mb = footprint_mb  # expected
        self.peak_mb: int | None = None  # measured; None: unknown


class Host:
    """Reserves memory for agents, one start at a time."""

    def __init__(
        self,
        settings: HostSettings,
        clock: Clock,
        free_mb: Callable[[], int | None] = get_free_memory_mb,
        used_mb: Callable[[], int] = get_used_memory_mb,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._free_mb = free_mb
        self._used_mb = used_mb
        self._starting = FairSemaphore(1, clock)
        self._reservations: list[Reservation] = []
        self._peaks: dict[str, int] = {}
        self._next_start = -math.inf
        self._released: asyncio.Future[None] | None = None  # wakes the start that waits for memory
        # Since when memory is short while no agent runs, for all starts: each one waits for the same memory.
        self._short_since: float | None = None

    @asynccontextmanager
    async def reserve(self, executor: str, timeout_seconds: float) -> AsyncGenerator[Reservation]:
        """Wait for memory, then hold it. Raises SPAWN_FAILED when there is not enough in time."""
        reservation = await self._reserve(executor, timeout_seconds)
        try:
            yield reservation
        finally:
            self._release(reservation)

    def describe_wait(self, executor: str) -> str:
        """Return what a start waits for, and how long it does."""
        wait = (
            "until an agent ends" if self._reservations else f"up to {self.settings.memory_wait_seconds:g} s"
        )
        return f"free memory, {wait}: {self._describe_memory(executor)}"

    def footprint_mb(self, executor: str) -> int:
        """Return the memory that an agent is expected to use: the peak of this executor in this run."""
        return self._peaks.get(executor, DEFAULT_FOOTPRINT_MB)

    async def _reserve(self, executor: str, timeout_seconds: float) -> Reservation:
        started = self._clock.monotonic()
        until = started + timeout_seconds
        try:
            await self._starting.acquire(timeout_seconds)
            try:
                await self._sleep_until(self._next_start)
                await self._wait_for_memory(executor, until)
                self._short_since = None
                return self._add_reservation(executor)
            finally:
                self._starting.release()
        except TimeoutError:
            raise self._memory_error(executor, self._clock.monotonic() - started) from None

    def _add_reservation(self, executor: str) -> Reservation:
        self._next_start = self._clock.monotonic() + self.settings.start_stagger_seconds
        reservation = Reservation(executor, self.footprint_mb(executor))
        self._reservations.append(reservation)
        return reservation

    def _release(self, reservation: Reservation) -> None:
        self._reservations.remove(reservation)
        if reservation.peak_mb is not None:
            known = self._peaks.get(reservation.executor, 0)
            self._peaks[reservation.executor] = max(reservation.peak_mb, known)
        if self._released and not self._released.done():
            self._released.set_result(None)

    async def _sleep_until(self, moment: float) -> None:
        if (seconds := moment - self._clock.monotonic()) > 0:
            await self._clock.sleep(seconds)

    async def _wait_for_memory(self, executor: str, until: float) -> None:
        while not self._has_memory(executor):
            if (left := self._find_deadline(until) - self._clock.monotonic()) <= 0:
                raise TimeoutError
            self._released = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                await wait_for(self._released, min(left, _POLL_SECONDS), self._clock)

    def _find_deadline(self, until: float) -> float:
        """Return when a start gives up; memory that no agent of this run uses may never become free."""
        if self._reservations:
            self._short_since = None
            return until
        if self._short_since is None:
            self._short_since = self._clock.monotonic()
        return min(until, self._short_since + self.settings.memory_wait_seconds)

    def _has_memory(self, executor: str) -> bool:
        """Return whether one more agent fits; the first one needs only the memory that must stay free."""
        free = self._free_mb()
        if free is None:
            return True
        spare = free - self.settings.min_free_memory_mb
        if not self._reservations:
            return spare >= 0
        spare -= self.footprint_mb(executor)
        reserved = sum(reservation.footprint_mb for reservation in self._reservations)
        # Agents that run already use a part of what is reserved for them.
        return spare >= reserved or spare >= max(0, reserved - self._used_mb())

    def _memory_error(self, executor: str, seconds: float) -> OstlerError:
        return OstlerError(
            Code.SPAWN_FAILED,
            f"{executor} could not be started within {seconds:.3g} s: {self._describe_memory(executor)}"
            f" ({len(self._reservations)} agents run, {self._starting.queued} wait).",
            "close other programs, lower run.jobs, or lower host.min_free_memory_mb in ostler.toml",
        )

    def _describe_memory(self, executor: str) -> str:
        return (
            f"{self._free_mb()} MB of memory are available, {self.settings.min_free_memory_mb} MB must stay"
            f" free (host.min_free_memory_mb), and {executor} needs about {self.footprint_mb(executor)} MB"
        )
