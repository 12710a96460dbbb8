"""Which process, of which machine: names that no later process and no other machine can have."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def this_host() -> str:
    """This machine since it was started; two containers with one name are two."""
    marks = [os.uname().nodename]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        marks.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(marks)


def birth_of(pid: int) -> str:
    """When the process was started, as the system writes it; empty when no such process lives."""
    return _birth_from_proc(pid) if sys.platform == "linux" else _birth_from_psutil(pid)


def _birth_from_proc(pid: int) -> str:
    try:
        facts = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    state, *rest = facts.rpartition(")")[2].split()
    return "" if state in "ZX" else rest[18]  # a zombie owns nothing any more


def _birth_from_psutil(pid: int) -> str:
    import psutil  # noqa: PLC0415  (30 ms that Linux need not spend)

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.Error:
        return ""
