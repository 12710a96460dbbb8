"""Kills the processes that a killed forker left: this process adopts them as their subreaper."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from ostler.process.forker_client import ForkerClient
from ostler.process.keeper import tree
from ostler.process.sweep import kill_marked_processes

LIMIT_SECONDS = 2.0
_PAUSE_SECONDS = 0.005


def become_subreaper() -> bool:
    """Make this process the parent of orphaned descendants; return False if the system cannot."""
    return tree.become_subreaper()


async def kill_orphans(forker: ForkerClient, marker: str) -> int:
    """Kill what a killed keeper left: adopted processes, and processes with the attempt's marker."""
    deadline = time.monotonic() + LIMIT_SECONDS
    killed = reap_orphans(forker)
    while killed and time.monotonic() < deadline:
        await asyncio.sleep(_PAUSE_SECONDS)
        killed = reap_orphans(forker)
    return await asyncio.to_thread(kill_marked_processes, marker.__eq__) if marker else 0


def reap_orphans(forker: ForkerClient) -> set[int]:
    """Kill and collect our children that descend from the forker and have no keeper; return their pids."""
    forker.poll()
    orphans = {pid for pid in tree.list_children(os.getpid()) if _is_orphan(pid, forker)}
    for pid in orphans:
        tree.kill_tree(pid)
        os.waitpid(pid, os.WNOHANG)
    return orphans


def _is_orphan(pid: int, forker: ForkerClient) -> bool:
    """Return whether the process has the limit that descendants of the forker inherit and is not a keeper."""
    if sys.platform != "linux":
        return False
    try:
        limits = Path(f"/proc/{pid}/limits").read_bytes()
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return _read_queue_limit(limits) == b"%d" % forker.token and line != forker.command_line


def _read_queue_limit(limits: bytes) -> bytes:
    _, _, rest = limits.partition(b"Max msgqueue size")
    return rest.split(maxsplit=1)[0] if rest else b""
