"""Which processes of this machine belong to which attempt, by the marker in their environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ostler.process.sweep import MARKER

_PREFIX = MARKER.encode() + b"="


def processes_by_marker() -> dict[str, list[int]]:
    """Of this user, and alive at this moment."""
    found: dict[str, list[int]] = {}
    for pid, marker in _by_proc() if sys.platform == "linux" else _by_psutil():
        found.setdefault(marker, []).append(pid)
    return found


def _by_proc() -> Iterator[tuple[int, str]]:
    for name in os.listdir("/proc"):  # noqa: PTH208  (a machine has thousands of entries)
        if not name.isdecimal():
            continue
        with suppress(OSError):
            for variable in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                if variable.startswith(_PREFIX):
                    yield int(name), variable[len(_PREFIX) :].decode("utf-8", "replace")


def _by_psutil() -> Iterator[tuple[int, str]]:
    import psutil  # noqa: PLC0415

    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if marker := process.environ().get(MARKER):
                yield process.pid, marker
