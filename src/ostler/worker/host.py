"""Whether the machine has room for one more agent."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from ostler.clock import Clock
from ostler.config.settings import HostSettings
from ostler.errors import Code, OstlerError
from ostler.process.cgroup import room_in_groups_mb
from ostler.process.memory import most_kb, processes_below
from ostler.worker.line import Line, within

USUAL_FOOTPRINT_MB = 256  # of an agent, before one of its kind was measured
_LOOK_SECONDS = 0.5  # between two looks at the memory while a start waits for it


def get_available_memory_mb() -> int | None:
    """What can be taken without swapping; None, which blocks nothing, where the system does not say."""
    import psutil  # noqa: PLC0415  (a status needs none of it)

    try:
        return psutil.virtual_memory().available // 2**20
    except (psutil.Error, OSError, NotImplementedError, RuntimeError, ValueError):
        return None


def get_room_mb() -> int | None:
    """The same where a container or a service allows less than the machine has."""
    rooms = [room for room in (get_available_memory_mb(), room_in_groups_mb()) if room is not None]
    return min(rooms, default=None)


def get_taken_memory_mb() -> int:
    """What everything below this process takes now."""
    return most_kb(processes_below(os.getpid())) // 1024


class Admission:
    """One agent that was let in, until its attempt has ended."""

    def __init__(self, kind: str, footprint_mb: int) -> None:
        self.kind = kind
        self.footprint_mb = footprint_mb  # what it was expected to take
        self.peak_mb: int | None = None

    def measured(self, peak_mb: int | None) -> None:
        """Say what it took at most, where that is known."""
        self.peak_mb = peak_mb


class Host:
    """Lets agents start one after the other, each when there is room for it."""

    def __init__(
        self,
        settings: HostSettings,
        clock: Clock,
        available_mb: Callable[[], int | None] = get_room_mb,
        taken_mb: Callable[[], int] = get_taken_memory_mb,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._available_mb = available_mb
        self._taken_mb = taken_mb
        self._door = Line(1, clock)
        self._inside: list[Admission] = []
        self._peaks: dict[str, int] = {}
        self._next_start = -math.inf
        self._left: asyncio.Future[None] | None = None  # the one at the door hears here that someone left

    @asynccontextmanager
    async def admit(self, kind: str, timeout_seconds: float) -> AsyncGenerator[Admission]:
        """Wait for room and for our turn, then stay inside. SPAWN_FAILED when there was none in time."""
        admission = await self._enter(kind, timeout_seconds)
        try:
            yield admission
        finally:
            self._leave(admission)

    def footprint_mb(self, kind: str) -> int:
        """What an agent of this kind is expected to take: the most that one took in this run."""
        return self._peaks.get(kind, USUAL_FOOTPRINT_MB)

    async def _enter(self, kind: str, timeout_seconds: float) -> Admission:
        until = self._clock.monotonic() + timeout_seconds
        try:
            await self._door.enter(timeout_seconds)
            try:
                await self._clock_reaches(self._next_start)
                await self._room_for(kind, until)
                return self._let_in(kind)
            finally:
                self._door.leave()
        except TimeoutError:
            raise self._no_room(kind, timeout_seconds) from None

    def _let_in(self, kind: str) -> Admission:
        self._next_start = self._clock.monotonic() + self._settings.start_stagger_seconds
        admission = Admission(kind, self.footprint_mb(kind))
        self._inside.append(admission)
        return admission

    def _leave(self, admission: Admission) -> None:
        self._inside.remove(admission)
        if admission.peak_mb is not None:
            self._peaks[admission.kind] = max(admission.peak_mb, self._peaks.get(admission.kind, 0))
        if self._left and not self._left.done():
            self._left.set_result(None)

    async def _clock_reaches(self, moment: float) -> None:
        if (seconds := moment - self._clock.monotonic()) > 0:
            await self._clock.sleep(seconds)

    async def _room_for(self, kind: str, until: float) -> None:
        while not self._has_room(kind):
            if (left := until - self._clock.monotonic()) <= 0:
                raise TimeoutError
            self._left = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                await within(min(left, _LOOK_SECONDS), self._left, self._clock)

    def _has_room(self, kind: str) -> bool:
        """The first one needs what must stay free; others also what they and those before them will take."""
        available = self._available_mb()
        if available is None:
            return True
        spare = available - self._settings.min_free_memory_mb
        if not self._inside:
            return spare >= 0
        spare -= self.footprint_mb(kind)
        promised = sum(admission.footprint_mb for admission in self._inside)
        return spare >= promised or spare >= max(0, promised - self._taken_mb())

    def _no_room(self, kind: str, seconds: float) -> OstlerError:
        return OstlerError(
            Code.SPAWN_FAILED,
            f"{kind} could not be started within {seconds:g} s: {self._available_mb()} MB of memory are"
            f" available, {self._settings.min_free_memory_mb} MB must stay free, and it takes about"
            f" {self.footprint_mb(kind)} MB ({len(self._inside)} agents run, {self._door.queued} wait).",
            "close other programs, lower run.jobs, or lower host.min_free_memory_mb in ostler.toml",
        )
