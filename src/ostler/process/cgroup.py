"""The control groups that limit our memory, as containers and services have them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_UNIFIED = Path("/sys/fs/cgroup")
_MEMORY = _UNIFIED / "memory"
_UNLIMITED = 2**60  # version 1 has no word for it, only a number near 2**63
_CACHED = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)


class Group(NamedTuple):
    """One group, and how its version calls its files."""

    place: Path
    limit: str = "memory.max"
    used: str = "memory.current"
    kills: str = "memory.events"


def room_in_groups_mb() -> int | None:
    """What we may take besides, by the narrowest group that we are in; None: none of them has a limit."""
    rooms = [room for group in own_groups() if (room := _room(group)) is not None]
    return min(rooms) // 2**20 if rooms else None


@cache
def own_groups() -> list[Group]:
    """Ours and those around it, the innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    return [group for line in lines for group in groups_of(line)]


def groups_of(line: str) -> list[Group]:
    """Version 2 has one line, 0::/place; version 1 one for each controller, 4:memory:/place."""
    _, controllers, place = line.split(":", 2)
    if controllers == "":
        return [Group(folder) for folder in _lineage(_UNIFIED, place)]
    if "memory" in controllers.split(","):
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")
        return [Group(folder, *names) for folder in _lineage(_MEMORY, place)]
    return []


def _lineage(root: Path, place: str) -> list[Path]:
    own = root / place.lstrip("/")
    return [own, *(above for above in own.parents if above.is_relative_to(root))]


def _room(group: Group) -> int | None:
    """The limit less what is taken; the files that the kernel would drop first are not taken."""
    try:
        limit = (group.place / group.limit).read_text().strip()
        if not limit.isdecimal() or int(limit) >= _UNLIMITED:
            return None
        used = int((group.place / group.used).read_text())
        cached = max(map(int, _CACHED.findall((group.place / "memory.stat").read_text())), default=0)
    except OSError:
        return None
    return max(0, int(limit) - max(0, used - cached))
