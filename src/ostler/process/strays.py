"""What is left when the forker was killed: a run that is a subreaper has adopted it, and ends it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from ostler.process.forker import Forker
from ostler.process.keepers import tree
from ostler.process.sweep import sweep

BOUND_SECONDS = 2.0
_ROUND_SECONDS = 0.005


def become_subreaper() -> bool:
    """Make this run the parent of what its forker's death leaves; False where that is impossible."""
    return tree.become_subreaper()


async def end_strays(forker: Forker, marker: str) -> int:
    """Kill what a killed keeper left: adopted processes, and those of the attempt by its marker."""
    deadline = time.monotonic() + BOUND_SECONDS
    killed = reap_strays(forker)
    while killed and time.monotonic() < deadline:
        await asyncio.sleep(_ROUND_SECONDS)
        killed = reap_strays(forker)
    return await asyncio.to_thread(sweep, marker.__eq__) if marker else 0


def reap_strays(forker: Forker) -> set[int]:
    """One round: kill and collect our children that came from the forker and have no keeper."""
    forker.collect()
    strays = {pid for pid in tree.children_of(os.getpid()) if _is_stray(pid, forker)}
    for pid in strays:
        tree.kill_tree(pid)
        os.waitpid(pid, os.WNOHANG)
    return strays


def _is_stray(pid: int, forker: Forker) -> bool:
    """It has the limit that the forker's descendants inherit; a keeper, which looks like it, is none."""
    if sys.platform != "linux":
        return False
    try:
        limits = Path(f"/proc/{pid}/limits").read_bytes()
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return _queue_limit(limits) == b"%d" % forker.token and line != forker.command_line


def _queue_limit(limits: bytes) -> bytes:
    _, _, rest = limits.partition(b"Max msgqueue size")
    return rest.split(maxsplit=1)[0] if rest else b""
