"""Adopts, lists and kills the descendants of a process."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Container, Iterable

_PR_SET_CHILD_SUBREAPER = 36
_LINKS_OF_ONE_THREAD = 3  # of the directory that has one directory for each thread
_READ_BYTES = 65536
_prctl: Callable[..., int] | None = None


def become_subreaper() -> bool:
    """Make this process the parent of orphaned descendants; return False if the system cannot."""
    global _prctl  # noqa: PLW0603  (loaded once, before the forks that share it)
    if sys.platform != "linux":
        return False
    _prctl = _prctl or ctypes.CDLL(None).prctl
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def list_children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none if it is gone."""
    folder = f"/proc/{pid}/task"
    try:
        # One call instead of five: this is read for each process of each program that is stopped.
        alone = os.stat(folder).st_nlink == _LINKS_OF_ONE_THREAD  # noqa: PTH116  (see below)
        threads = (str(pid),) if alone else os.listdir(folder)  # noqa: PTH208  (pathlib doubles the start)
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(f"{folder}/{thread}/children").split()]


def list_descendants(pid: int) -> list[int]:
    """Return all descendants of a process, parents first."""
    return _add_descendants(list_children(pid))


def _add_descendants(found: list[int]) -> list[int]:
    for child in found:
        found += list_children(child)
    return found


def terminate_descendants(root: int, extra: Iterable[int] = ()) -> None:
    """Send SIGTERM and SIGCONT to all descendants; the process group of a child is signalled as a whole."""
    children = list_children(root)
    group_leaders = {*children, *extra}
    descendants = _add_descendants(children)
    for leader in group_leaders:
        _terminate(os.killpg, leader)
    for pid in descendants:
        if _get_group(pid) not in group_leaders:
            _terminate(os.kill, pid)


def kill_descendants(root: int, exclude: Container[int] = (), extra: Iterable[int] = ()) -> set[int]:
    """Kill all descendants and return them; callers repeat this until none is found."""
    found = [pid for pid in (*list_children(root), *extra) if pid not in exclude]
    return {killed for pid in found for killed in kill_tree(pid)}


def kill_tree(root: int) -> set[int]:
    """Kill a process and its descendants, each before its children are read.

    A process that forks and exits in a loop would escape otherwise.
    """
    killed: set[int] = set()
    pending = [root]
    while pending:
        pid = pending.pop()
        _kill(pid)
        killed.add(pid)
        pending += [child for child in list_children(pid) if child not in killed]
    return killed


def kill_group(group: int) -> None:
    """Kill all members of a process group; its leader may be gone."""
    _send_signal(os.killpg, group, signal.SIGKILL)


def _kill(pid: int) -> None:
    """Kill the group first: that is atomic, so no member can fork and escape."""
    group = _get_group(pid)
    if group == 0:
        return
    if group != os.getpgrp():
        kill_group(group)
    _send_signal(os.kill, pid, signal.SIGKILL)


def _terminate(kill: Callable[[int, int], None], target: int) -> None:
    _send_signal(kill, target, signal.SIGTERM)
    _send_signal(kill, target, signal.SIGCONT)


def _send_signal(kill: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        kill(target, number)
    except (ProcessLookupError, PermissionError):
        return


def _get_group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        content = b""
        while chunk := os.read(descriptor, _READ_BYTES):
            content += chunk
        return content
    except OSError:
        return b""
    finally:
        os.close(descriptor)
