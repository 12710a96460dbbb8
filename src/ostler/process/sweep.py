"""Ending what a crash of the machine or of a run left, found by the marker in its environment."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MARKER = "OSTLER_ATTEMPT"
BOUND_SECONDS = 2.0
_ROUND_SECONDS = 0.005
_PREFIX = MARKER.encode() + b"="


def sweep(matches: Callable[[str], bool]) -> int:
    """Kill this user's processes whose marker matches, in rounds until none is found; returns how many."""
    find_and_kill = _kill_by_proc if sys.platform == "linux" else _kill_by_psutil
    spared = _own_line()
    killed: set[int] = set()
    deadline = time.monotonic() + BOUND_SECONDS
    while (found := set(find_and_kill(matches, spared))) and time.monotonic() < deadline:
        killed |= found
        time.sleep(_ROUND_SECONDS)
    return len(killed)


def _own_line() -> set[int]:
    """This process and its ancestors."""
    import psutil  # noqa: PLC0415  (few runs have anything to sweep)

    this = psutil.Process()
    return {this.pid, *(parent.pid for parent in this.parents())}


def _kill_by_proc(matches: Callable[[str], bool], spared: set[int]) -> Iterator[int]:
    user = os.geteuid()
    for name in os.listdir("/proc"):  # noqa: PTH208  (a machine has thousands of entries)
        if name.isdecimal() and int(name) not in spared:
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user and _kill_marked(int(name), matches):  # noqa: PTH116
                    yield int(name)


def _kill_marked(pid: int, matches: Callable[[str], bool]) -> bool:
    """The descriptor is taken before the look, so that a pid used anew is never hit."""
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


def _kill_by_psutil(matches: Callable[[str], bool], spared: set[int]) -> Iterator[int]:
    import psutil  # noqa: PLC0415

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            marker = process.environ().get(MARKER) if process.pid not in spared else None
            if marker is not None and matches(marker):
                process.kill()
                yield process.pid
