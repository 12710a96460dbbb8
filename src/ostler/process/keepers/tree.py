"""The processes below a process: adopting, finding and ending them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Container, Iterable

_PR_SET_CHILD_SUBREAPER = 36
_prctl: Callable[..., int] | None = None


def become_subreaper() -> bool:
    """Adopt every orphan below this process; False where the system has no such thing."""
    global _prctl  # noqa: PLW0603  (loaded once, before the forks that share it)
    if sys.platform != "linux":
        return False
    _prctl = _prctl or ctypes.CDLL(None).prctl
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process; empty when it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  (pathlib doubles this program's start)
    except OSError:
        return []
    return [
        int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()
    ]


def descendants_of(pid: int) -> list[int]:
    """Everything below a process, parents first."""
    found = children_of(pid)
    for child in found:
        found += children_of(child)
    return found


def terminate_below(root: int, also: Iterable[int] = ()) -> None:
    """Ask every process below to end, the stopped ones too; the group of a child is asked as one."""
    whole = {*children_of(root), *also}
    everyone = descendants_of(root)
    for leader in whole:
        _ask(os.killpg, leader)
    for pid in everyone:
        if _group_of(pid) not in whole:
            _ask(os.kill, pid)


def kill_below(root: int, spare: Container[int] = (), also: Iterable[int] = ()) -> set[int]:
    """Kill every process below; the callers repeat this until nothing is found."""
    found = [pid for pid in (*children_of(root), *also) if pid not in spare]
    return {killed for pid in found for killed in kill_tree(pid)}


def kill_tree(root: int) -> set[int]:
    """Kill a process and all below it, each before its own children are read: one that forks and exits, again
    and again, must not get the time to do so."""
    killed: set[int] = set()
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        _kill(pid)
        killed.add(pid)
        waiting += [child for child in children_of(pid) if child not in killed]
    return killed


def kill_group(group: int) -> None:
    """Kill its members, though its leader may be gone."""
    _send(os.killpg, group, signal.SIGKILL)


def _kill(pid: int) -> None:
    """By group first, which is atomic: no member can fork its way out."""
    group = _group_of(pid)
    if group == 0:
        return
    if group != os.getpgrp():
        kill_group(group)
    _send(os.kill, pid, signal.SIGKILL)


def _ask(kill: Callable[[int, int], None], target: int) -> None:
    _send(kill, target, signal.SIGTERM)
    _send(kill, target, signal.SIGCONT)


def _send(kill: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        kill(target, number)
    except (ProcessLookupError, PermissionError):
        return


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.readall()
    except OSError:
        return b""
