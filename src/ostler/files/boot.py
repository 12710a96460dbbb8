"""The id of this boot of the machine: after a restart, files that were not flushed may be lost."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_FILE = Path("/proc/sys/kernel/random/boot_id")


def read_boot_id() -> str:
    """Return the id; where nothing names the boot, one that is valid in this process only."""
    try:
        return _FILE.read_text()
    except OSError:
        return _read_boot_time() or _make_process_id()


def _read_boot_time() -> str:
    """Return when the machine was started, as macOS reports it; empty if that is unknown."""
    import psutil  # noqa: PLC0415  (20 ms that Linux need not spend)

    try:
        return f"since {psutil.boot_time():.0f}"
    except (OSError, RuntimeError, psutil.Error):  # without /proc/stat, or without its line
        return ""


@cache
def _make_process_id() -> str:
    return f"process {os.urandom(16).hex()}"
