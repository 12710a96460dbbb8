"""Limits that each process of a sandbox inherits."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.sandbox.box.box import Limits

_MB = 2**20


def list_rlimits(limits: Limits, cgroup_limits_processes: bool, own_user_namespace: bool) -> dict[str, int]:
    """Return the names of resource limits and their values, for the first program of a sandbox.

    The kernel counts the processes of a user, not of a sandbox, and does not limit those of root. In a user
    namespace of its own the count begins at zero, otherwise all programs of the user are part of it.
    """
    found = {"RLIMIT_FSIZE": limits.file_mb * _MB, "RLIMIT_CORE": 0}
    if not cgroup_limits_processes:
        others = 0 if own_user_namespace else count_user_threads()
        found["RLIMIT_NPROC"] = limits.processes + others
    return found


def count_user_threads() -> int:
    """Return the threads of all processes of this user."""
    user, count = os.getuid(), 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == user:
                count += len(os.listdir(process / "task"))  # noqa: PTH208  (only the number is needed)
        except OSError:
            continue  # it exited
    return count
