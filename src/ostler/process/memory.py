"""Measures the memory of a process tree, including its share of shared pages."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ostler.lazy import lazy_pattern
from ostler.process.keeper import tree
from ostler.process.keeper_client import KeeperClient

_STATUS_FIELDS = lazy_pattern(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$", re.MULTILINE)
_SMAPS_FIELDS = lazy_pattern(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$", re.MULTILINE)
SAMPLE_SECONDS = 1.0
SHORT_SAMPLE_SECONDS = 0.25  # before the first sample, and while more than half of the limit is used
_RUSAGE_PER_MB = 1024 if sys.platform == "linux" else 1024 * 1024


def list_descendants(root: int) -> list[int]:
    """Return all descendants of a process."""
    if sys.platform == "linux":
        return tree.list_descendants(root)
    return _list_descendants_by_psutil(root)


def estimate_memory_kb(pids: Iterable[int]) -> int:
    """Return a fast upper bound: shared pages count once per process, files do not count."""
    if sys.platform != "linux":
        return sum(map(_read_kb_by_psutil, pids))
    return sum(_sum_fields(_STATUS_FIELDS, _read(pid, "status")) for pid in pids)


def measure_memory_kb(pids: Iterable[int]) -> int:
    """Return the memory with shared pages divided among their users; blocks while a process maps memory."""
    if sys.platform != "linux":
        return estimate_memory_kb(pids)
    return sum(map(_read_proportional_kb, pids))


def _read_proportional_kb(pid: int) -> int:
    parts = _read(pid, "smaps_rollup")
    if b"Pss_Anon" not in parts:  # an older kernel, or a process that hides its memory
        return estimate_memory_kb((pid,))
    return _sum_fields(_SMAPS_FIELDS, parts)


def _sum_fields(pattern: re.Pattern[bytes], text: bytes) -> int:
    return sum(map(int, pattern.findall(text)))


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it exited


def _list_descendants_by_psutil(root: int) -> list[int]:
    import psutil  # noqa: PLC0415  (only where there is no /proc)

    with contextlib.suppress(psutil.Error):
        return [process.pid for process in psutil.Process(root).children(recursive=True)]
    return []


def _read_kb_by_psutil(pid: int) -> int:
    import psutil  # noqa: PLC0415

    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).memory_full_info().uss // 1024
    return 0


class ResourceSampler:
    """Samples memory about once a second and calls `on_limit` when the limit is exceeded."""

    def __init__(self, keeper: KeeperClient, limit_mb: int | None, on_limit: Callable[[], None]) -> None:
        self._keeper = keeper
        self._on_limit = on_limit
        self._limit_kb = limit_mb * 1024 if limit_mb else 0
        self._peak_kb = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def peak_mb(self) -> int | None:
        """The highest sample; for short programs the peak of the main process."""
        return -(-self._peak_kb // 1024) or -(-self._keeper.max_rss // _RUSAGE_PER_MB) or None

    def start(self) -> None:
        """Start sampling."""
        self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Stop sampling without waiting for a sample in progress."""
        if self._task:
            self._task.cancel()

    async def _run(self) -> None:
        delay = SHORT_SAMPLE_SECONDS
        while not 0 < self._limit_kb < self._peak_kb:
            await asyncio.sleep(delay)
            used_kb = await self._sample()
            delay = SHORT_SAMPLE_SECONDS if 0 < self._limit_kb < 2 * used_kb else SAMPLE_SECONDS
        self._on_limit()

    async def _sample(self) -> int:
        """Take a sample; measure exactly only a possible new peak, which is slower and locks the process."""
        assert self._keeper.program
        pids = list_descendants(self._keeper.program.keeper)
        used_kb = estimate_memory_kb(pids)
        if used_kb > self._peak_kb:
            used_kb = await asyncio.to_thread(measure_memory_kb, pids)
            self._peak_kb = max(self._peak_kb, used_kb)
        return used_kb
