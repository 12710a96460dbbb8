"""Finds the directories in which this process can create control groups."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path

from msgspec import Struct

from ostler.process.cgroup import list_with_parents
from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.box.box import Limits
from ostler.sandbox.owner import create_name

_ROOT = Path("/sys/fs/cgroup")
_MB = 2**20
_CONTROLLERS = ("pids", "memory")
SWAP_LIMITS = ("memory.swap.max", "memory.memsw.limit_in_bytes")  # absent where the kernel limits no swap
_PROBE_SECONDS = 5.0
# Memory of the kernel and written files count in a group, but not in memory_mb of a pool. The sampler
# (process/memory.py) stops a program at memory_mb; the group ends one that grows faster than it samples.
_EXTRA_SHARE, _EXTRA_MB = 0.25, 64


class Place(Struct, frozen=True):
    """A directory for groups, and the controllers that limit them."""

    directory: Path
    controllers: frozenset[str]
    unified: bool  # version 2

    @property
    def memory_limit(self) -> str:
        return "memory.max" if self.unified else "memory.limit_in_bytes"

    @property
    def oom_counter(self) -> str:
        return "memory.events" if self.unified else "memory.oom_control"

    def list_limits(self, limits: Limits) -> dict[str, int]:
        """Return the files of a group to write, in this order, and their values."""
        wanted: dict[str, int] = {}
        if "pids" in self.controllers:
            wanted["pids.max"] = limits.processes
        if "memory" in self.controllers and limits.memory_mb is not None:
            allowed = int(limits.memory_mb * (1 + _EXTRA_SHARE) + _EXTRA_MB) * _MB
            wanted[self.memory_limit] = allowed
            wanted |= {SWAP_LIMITS[0]: 0} if self.unified else {SWAP_LIMITS[1]: allowed}
        return wanted


@cache
def find_places() -> tuple[Place, ...]:
    """Return the directories in which a group can be created and joined; one per controller at most."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ()
    return tuple(one for one in list_places(lines) if _can_join(one.directory))


def list_places(lines: list[str], root: Path = _ROOT) -> list[Place]:
    """Return the innermost writable directory for each line of /proc/self/cgroup with a controller."""
    found = [place for line in lines if (place := _find_place(line, root))]
    taken = {name for place in found if not place.unified for name in place.controllers}
    return [place for place in found if not place.unified or place.controllers - taken]


def _find_place(line: str, root: Path) -> Place | None:
    _, names, path = line.split(":", 2)
    if ".." in Path(path).parts:
        return None  # the group is outside the namespace of this process
    if names == "":
        tops = [root / "unified", root]  # of a system with both versions, and of one with version 2 only
        top = next((one for one in tops if (one / "cgroup.controllers").exists()), None)
        return _find_unified(top, path) if top else None
    controllers = frozenset(names.split(",")) & frozenset(_CONTROLLERS)
    if not controllers:
        return None
    places = (one for one in list_with_parents(root / names, path) if _is_writable(one))
    return next((Place(one, controllers, unified=False) for one in places), None)


def _find_unified(top: Path, path: str) -> Place | None:
    """Return the innermost directory whose groups get controllers.

    A directory with processes of its own gives none to its groups, so this is usually not the own group
    but the one around it, such as app.slice of a user.
    """
    for directory in list_with_parents(top, path):
        controllers = _read_words(directory / "cgroup.subtree_control") & frozenset(_CONTROLLERS)
        if controllers and _is_writable(directory):
            return Place(directory, controllers, unified=True)
    return None


def _is_writable(directory: Path) -> bool:
    return os.access(directory, os.W_OK) and os.access(directory / "cgroup.procs", os.W_OK)


def _read_words(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text().split())
    except OSError:
        return frozenset()


def _can_join(place: Path) -> bool:
    """Try it once: the rights of a process in its group decide too."""
    probe = place / create_name("probe")
    try:
        probe.mkdir()
        ended = run_tool(
            ["/bin/sh", "-c", 'echo 0 > "$0"', str(probe / "cgroup.procs")],
            env={}, cwd="/", timeout_seconds=_PROBE_SECONDS,
        )  # fmt: skip
    except (OSError, ToolTimeout):
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.rmdir()
    return ended.status == 0
