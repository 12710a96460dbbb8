"""Stops a program when the directories of its task use too much disk space."""

from __future__ import annotations

import asyncio
import math
import os
import time
from pathlib import Path

from ostler.model.command import StopNow, StopReason
from ostler.sandbox.limits.disk_use import DiskUse, measure_disk_use
from ostler.text import one_line

_MB = 2**20
_POLL_SECONDS = 1.0
_MIN_REST, _MAX_REST = 10.0, 50.0  # between two measurements, as multiples of the time of the last
_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 15.0
_ALARM_SHARE = 0.5  # of the space that is left to the task


class DiskWatch:
    """Measures rarely, and soon when the file system lost much free space since the last measurement."""

    def __init__(
        self, directories: tuple[Path, ...], limit_mb: int, poll_seconds: float | None = None
    ) -> None:
        self._directories = directories
        self._limit_mb = limit_mb
        self._poll_seconds = _POLL_SECONDS if poll_seconds is None else poll_seconds
        self._measured_at = -math.inf
        self._took = 0.0
        self._free_before: tuple[int, ...] = ()
        self._left = 0

    async def wait_for_excess(self) -> StopNow:
        """See Watch.wait_for_excess."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            if not self._is_due():
                continue
            use = await self._measure()
            if use.unmeasured or use.total > self._limit_mb * _MB:
                return StopNow(StopReason.DISK, self._describe(use))

    def _is_due(self) -> bool:
        since = time.monotonic() - self._measured_at
        if since < max(_MIN_PAUSE_SECONDS, _MIN_REST * self._took):
            return False
        if since >= max(_MAX_PAUSE_SECONDS, _MAX_REST * self._took):
            return True
        # Directories of one file system report the same number: the largest loss is that of the task.
        lost = (before - now for before, now in zip(self._free_before, self._read_free(), strict=True))
        return max(lost, default=0) > self._left * _ALARM_SHARE

    async def _measure(self) -> DiskUse:
        began, self._free_before = time.monotonic(), self._read_free()
        use = await asyncio.to_thread(measure_disk_use, self._directories)
        self._measured_at = time.monotonic()
        self._took = self._measured_at - began
        self._left = max(0, self._limit_mb * _MB - use.total)
        return use

    def _read_free(self) -> tuple[int, ...]:
        return tuple(_read_free_bytes(one) for one in self._directories)

    def _describe(self, use: DiskUse) -> str:
        if use.unmeasured:
            return f"its disk use cannot be measured: the path {one_line(use.unmeasured, 100)} is too long"
        largest = use.describe_largest()
        return (
            f"the worktree and the home directory of the task use {use.total // _MB} MB,"
            f" and sandbox.max_disk_mb is {self._limit_mb}" + (f"; largest: {largest}" if largest else "")
        )


def _read_free_bytes(directory: Path) -> int:
    try:
        status = os.statvfs(directory)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize
