"""Control groups that limit the processes and the memory of one attempt."""

from __future__ import annotations

import contextlib
import time
from functools import cache
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.box.box import Limits
from ostler.sandbox.limits.places import SWAP_LIMITS, Place, find_places
from ostler.sandbox.owner import create_name, is_of_dead_run

_REMOVE_SECONDS = 1.0
_PAUSE_SECONDS = 0.01


class Cgroup(Struct, frozen=True):
    """The groups of one attempt; version 1 has one per controller."""

    directories: tuple[Path, ...]
    limits_processes: bool = False
    oom_counter: Path | None = None  # counts the kills for lack of memory; None: memory is not limited

    @property
    def procs(self) -> tuple[Path, ...]:
        """Files to which a process writes its pid, or 0 for itself, to join."""
        return tuple(one / "cgroup.procs" for one in self.directories)

    def remove(self) -> bool:
        """Remove the groups; return False if one still has a process."""
        until = time.monotonic() + _REMOVE_SECONDS
        removed = [_remove(one, until) for one in self.directories]
        return all(removed)


def prepare_cgroup(name: str, limits: Limits, places: tuple[Place, ...] | None = None) -> Cgroup | None:
    """Create the group of an attempt with its limits; None if no group can be created here."""
    leaf = create_name(name)
    directories: list[Path] = []
    limits_processes, oom_counter = False, None
    for place in find_places() if places is None else places:
        wanted = place.list_limits(limits)
        directory = place.directory / leaf
        if not wanted or not _create(directory, wanted):
            continue
        directories.append(directory)
        limits_processes = limits_processes or "pids.max" in wanted
        if place.memory_limit in wanted:
            oom_counter = directory / place.oom_counter
    return Cgroup(tuple(directories), limits_processes, oom_counter) if directories else None


@cache
def sweep_once() -> None:
    """Sweep at the first use in this process."""
    sweep_cgroups()


def sweep_cgroups(places: tuple[Place, ...] | None = None) -> int:
    """Remove the empty groups of runs that are dead; return their number."""
    removed = 0
    for place in find_places() if places is None else places:
        for directory in _list_groups(place.directory):
            removed += _remove(directory, until=0.0)
    return removed


def _create(directory: Path, wanted: dict[str, int]) -> bool:
    try:
        directory.mkdir()
        for name, value in wanted.items():
            if name not in SWAP_LIMITS or (directory / name).exists():
                (directory / name).write_text(str(value))
    except OSError:
        with contextlib.suppress(OSError):
            directory.rmdir()
        return False
    return True


def _remove(directory: Path, until: float) -> bool:
    """Remove a group, which is refused for a moment after its last process exited."""
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def _list_groups(place: Path) -> list[Path]:
    try:
        return [one for one in place.iterdir() if is_of_dead_run(one.name)]
    except OSError:
        return []
