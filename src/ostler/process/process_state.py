"""Whether a signal has stopped a process, and how to continue it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

_STOPPED = b"T"


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped the process; False where that is unknown."""
    try:
        # The name in parentheses may contain anything.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == _STOPPED
    except (OSError, IndexError):
        return False


def resume_if_stopped(pid: int) -> bool:
    """Continue the process if a signal has stopped it; return whether it had to be continued."""
    if not is_stopped(pid):
        return False
    send_signal(pid, signal.SIGCONT)
    return True


def send_signal(pid: int, number: int) -> None:
    """Send a signal; a process that has ended gets none."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
