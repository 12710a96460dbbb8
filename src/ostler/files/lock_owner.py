"""Finds the process that holds a lock, for messages only: it may have ended a moment later."""

from __future__ import annotations

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")


def find_owner(path: Path) -> int:
    """Return the pid of the process that took the lock on this file or directory; 0 if unknown."""
    try:
        found, lines = path.stat(), _LOCKS.read_text().splitlines()
    except OSError:
        return 0
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in lines:
        # 12: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF
        fields = line.split()
        if len(fields) == 8 and fields[1] == "FLOCK" and fields[5] == place:
            return max(0, int(fields[4]))
    return 0


def describe_owner(path: Path) -> str:
    """Return the owner of a lock in words."""
    pid = find_owner(path)
    return f"another Ostler process (pid {pid})" if pid else "another Ostler process"
