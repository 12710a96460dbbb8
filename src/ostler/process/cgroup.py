"""Memory limits and out-of-memory kills of the control groups that this process is in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ostler.lazy import lazy_pattern

_UNIFIED = Path("/sys/fs/cgroup")
_MEMORY = _UNIFIED / "memory"
_UNLIMITED = 2**60  # version 1 reports a number near 2**63 for "no limit"
_INACTIVE_FILE = lazy_pattern(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)
_VMSTAT = Path("/proc/vmstat")
_COUNT = lazy_pattern(rb"^oom_kill (\d+)$", re.MULTILINE)


class MemoryGroup(NamedTuple):
    """A control group and the file names of its cgroup version."""

    path: Path
    limit: str = "memory.max"
    used: str = "memory.current"
    kills: str = "memory.events"


def available_memory_mb() -> int | None:
    """Return the free memory of the tightest group, or None if no group has a limit."""
    available_bytes = [
        available for group in list_own_groups() if (available := _read_available_bytes(group)) is not None
    ]
    return min(available_bytes) // 2**20 if available_bytes else None


@cache
def list_own_groups() -> list[MemoryGroup]:
    """Return the group of this process and its parents, innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    return [group for line in lines for group in parse_cgroup_line(line)]


def parse_cgroup_line(line: str) -> list[MemoryGroup]:
    """Parse a line of /proc/self/cgroup: 0::/path (version 2) or 4:memory:/path (version 1)."""
    _, controllers, cgroup_path = line.split(":", 2)
    if controllers == "":
        return [MemoryGroup(folder) for folder in list_with_parents(_UNIFIED, cgroup_path)]
    if "memory" in controllers.split(","):
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")
        return [MemoryGroup(folder, *names) for folder in list_with_parents(_MEMORY, cgroup_path)]
    return []


def list_with_parents(root: Path, cgroup_path: str) -> list[Path]:
    """Return the directory of a group and those around it, innermost first."""
    own = root / cgroup_path.lstrip("/")
    return [own, *(parent for parent in own.parents if parent.is_relative_to(root))]


def _read_available_bytes(group: MemoryGroup) -> int | None:
    """Return the limit minus the used memory; inactive file cache counts as free."""
    try:
        limit = (group.path / group.limit).read_text().strip()
        if not limit.isdecimal() or int(limit) >= _UNLIMITED:
            return None
        used = int((group.path / group.used).read_text())
        cached = max(map(int, _INACTIVE_FILE.findall((group.path / "memory.stat").read_text())), default=0)
    except OSError:
        return None
    return max(0, int(limit) - max(0, used - cached))


def count_oom_kills(counter: str = "") -> int | None:
    """Return the kills so far; None if there is no counter.

    Without a `counter`, the file of a group, the kills in our own group, else on the machine are counted.
    """
    return _read_count(Path(counter) if counter else _find_counter())


def was_oom_killed_since(before: int | None, counter: str = "") -> bool:
    """Return whether the kernel killed a process since `before` was counted."""
    now = count_oom_kills(counter)
    return now is not None and before is not None and now > before


@cache
def _find_counter() -> Path:
    """Return the innermost counter; the machine-wide one includes kills in other containers."""
    counters = (group.path / group.kills for group in list_own_groups())
    return next((path for path in counters if _read_count(path) is not None), _VMSTAT)


def _read_count(path: Path) -> int | None:
    try:
        found = _COUNT.search(path.read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None
