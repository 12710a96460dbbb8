"""What the machine shows of a silent agent: the CPU time of its processes, the writes in its workspace."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct

from ostler.process.keepers.tree import descendants_of

MOST_ENTRIES = 20_000
MOST_SECONDS = 2.0
_SKIPPED = frozenset({".git", ".ostler", "node_modules", ".venv", "__pycache__"})


class Signs(Struct, frozen=True):
    """Two of these tell whether anything happened between them."""

    cpu_seconds: float  # of all its processes, those that have ended included
    writes: int  # another number when a file was written, made or deleted; 0: unknown


Sampler = Callable[[int, str], Signs]
"""Looks at everything below a process, and at a directory; called in a thread."""


def sample_signs(pid: int, directory: str) -> Signs:
    """Look once."""
    return Signs(cpu_seconds_below(pid), writes_in(directory))


def cpu_seconds_below(pid: int) -> float:
    """CPU time of a process and all below it; whoever waited for a child that ended has its time."""
    return sum(_cpu_seconds(one) for one in (pid, *_below(pid)))


def writes_in(directory: str, most: int = MOST_ENTRIES, seconds: float = MOST_SECONDS) -> int:
    """A number from the times and sizes of what is there, the top first; 0 when time was too short."""
    until = time.monotonic() + seconds
    total = count = 0
    for entry in _entries(directory):
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        total += found.st_mtime_ns ^ found.st_size
        count += 1
        if count >= most:
            break
        if count % 256 == 0 and time.monotonic() > until:
            return 0  # cut elsewhere the next time: nothing to compare with
    return hash((total, count))


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    waiting = deque((directory,))
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as found:
                entries = [entry for entry in found if entry.name not in _SKIPPED]
        except OSError:
            continue
        waiting.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        yield from entries


def _below(pid: int) -> list[int]:
    if sys.platform == "linux":
        return descendants_of(pid)
    import psutil  # noqa: PLC0415  (16 ms, and only a silent agent needs it)

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _cpu_seconds(pid: int) -> float:
    import psutil  # noqa: PLC0415

    try:
        return sum(psutil.Process(pid).cpu_times()[:4])  # its own and its children's, user and system
    except psutil.Error:
        return 0.0
