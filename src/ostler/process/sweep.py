"""Finds and kills processes of earlier runs by the marker in their environment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MARKER = "OSTLER_ATTEMPT"
LIMIT_SECONDS = 2.0
_PAUSE_SECONDS = 0.005
_PREFIX = MARKER.encode() + b"="


def kill_marked_processes(matches: Callable[[str], bool]) -> int:
    """Kill this user's processes whose marker matches, until none is found; return their number."""
    find_and_kill = _kill_by_proc if sys.platform == "linux" else _kill_by_psutil
    excluded = _list_own_ancestors()
    killed: set[int] = set()
    deadline = time.monotonic() + LIMIT_SECONDS
    while (found := set(find_and_kill(matches, excluded))) and time.monotonic() < deadline:
        killed |= found
        time.sleep(_PAUSE_SECONDS)
    return len(killed)


class SharedSweep:
    """Kills marked processes for many tasks together: each pass looks at every process of the machine."""

    def __init__(self) -> None:
        self._requested: set[str] = set()  # markers that the next pass looks for
        self._pass: asyncio.Task[None] | None = None  # the one that runs
        self._next: asyncio.Task[None] | None = None  # that waits for it

    async def kill(self, markers: Iterable[str]) -> None:
        """Kill the processes with these markers; a pass that has begun before does not count."""
        self._requested.update(markers)
        if self._next is None:
            self._next = asyncio.create_task(self._run(self._pass))
        await asyncio.shield(self._next)  # a task that is cancelled does not end the pass of the others

    async def _run(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        requested, self._requested = self._requested, set()
        self._pass, self._next = self._next, None
        await asyncio.to_thread(kill_marked_processes, requested.__contains__)


def _list_own_ancestors() -> set[int]:
    """Return this process and its ancestors."""
    import psutil  # noqa: PLC0415  (few runs have anything to sweep)

    this = psutil.Process()
    return {this.pid, *(parent.pid for parent in this.parents())}


def _kill_by_proc(matches: Callable[[str], bool], excluded: set[int]) -> Iterator[int]:
    user = os.geteuid()
    for name in os.listdir("/proc"):  # noqa: PTH208  (a machine has thousands of entries)
        if name.isdecimal() and int(name) not in excluded:
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user and _kill_marked(int(name), matches):  # noqa: PTH116
                    yield int(name)


def _kill_marked(pid: int, matches: Callable[[str], bool]) -> bool:
    """Check again after opening the pidfd, so that a reused pid is not killed."""
    if not _is_marked(pid, matches):
        return False
    descriptor = os.pidfd_open(pid)
    try:
        if not _is_marked(pid, matches):
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return True
    finally:
        os.close(descriptor)


def _is_marked(pid: int, matches: Callable[[str], bool]) -> bool:
    for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if variable.startswith(_PREFIX):
            return matches(variable[len(_PREFIX) :].decode("utf-8", "replace"))
    return False


def _kill_by_psutil(matches: Callable[[str], bool], excluded: set[int]) -> Iterator[int]:
    import psutil  # noqa: PLC0415

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            marker = process.environ().get(MARKER) if process.pid not in excluded else None
            if marker is not None and matches(marker):
                process.kill()
                yield process.pid


def signal_marked_processes(marker: str, number: int) -> None:
    """Send a signal to the processes with this marker."""
    for pid in find_marked_processes().get(marker, []) if marker else []:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def find_marked_processes() -> dict[str, list[int]]:
    """Return the running processes of this user by marker."""
    found: dict[str, list[int]] = {}
    for pid, marker in _list_marked_by_proc() if sys.platform == "linux" else _list_marked_by_psutil():
        found.setdefault(marker, []).append(pid)
    return found


def _list_marked_by_proc() -> Iterator[tuple[int, str]]:
    for name in os.listdir("/proc"):  # noqa: PTH208  (a machine has thousands of entries)
        if not name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            for variable in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                if variable.startswith(_PREFIX):
                    yield int(name), variable[len(_PREFIX) :].decode("utf-8", "replace")


def _list_marked_by_psutil() -> Iterator[tuple[int, str]]:
    import psutil  # noqa: PLC0415

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if marker := process.environ().get(MARKER):
                yield process.pid, marker
