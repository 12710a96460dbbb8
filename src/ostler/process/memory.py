"""How much memory processes take: their own, and their part of what they share."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from ostler.process.keepers import tree

_OWN = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$", re.MULTILINE)
_PART = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$", re.MULTILINE)


def processes_below(root: int) -> list[int]:
    """Everything that a process started, and what those started."""
    if sys.platform == "linux":
        return tree.descendants_of(root)
    return _processes_by_psutil(root)


def most_kb(pids: Iterable[int]) -> int:
    """Quick and never too low: what a fork left shared is counted in each. Files are not counted."""
    if sys.platform != "linux":
        return sum(map(_kb_by_psutil, pids))
    return sum(_sum(_OWN, _read(pid, "status")) for pid in pids)


def exact_kb(pids: Iterable[int]) -> int:
    """The same, with shared pages divided among their users; waits while a process is mapping memory."""
    if sys.platform != "linux":
        return most_kb(pids)
    return sum(map(_part_of, pids))


def _part_of(pid: int) -> int:
    parts = _read(pid, "smaps_rollup")
    if b"Pss_Anon" not in parts:  # an older kernel, or a program that hides its memory
        return most_kb((pid,))
    return _sum(_PART, parts)


def _sum(pattern: re.Pattern[bytes], text: bytes) -> int:
    return sum(map(int, pattern.findall(text)))


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended


def _processes_by_psutil(root: int) -> list[int]:
    import psutil  # noqa: PLC0415  (only where there is no /proc)

    with contextlib.suppress(psutil.Error):
        return [process.pid for process in psutil.Process(root).children(recursive=True)]
    return []


def _kb_by_psutil(pid: int) -> int:
    import psutil  # noqa: PLC0415

    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).memory_full_info().uss // 1024
    return 0
