"""Whether something is still alive in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def is_occupied(directory: Path) -> bool:
    """Whether a process of ours works below it, or has a file open there; where nobody can tell, no."""
    inside = f"{directory.resolve()}/"
    others = (name for name in _names("/proc") if name.isdecimal() and int(name) != os.getpid())
    return any(f"{place}/".startswith(inside) for pid in others for place in _places(f"/proc/{pid}"))


def _places(process: str) -> Iterator[str]:
    for link in (f"{process}/cwd", *(f"{process}/fd/{name}" for name in _names(f"{process}/fd"))):
        try:
            yield os.readlink(link)  # noqa: PTH115  (the text as the kernel has it)
        except OSError:
            continue  # it has ended, or is someone else's


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208  (a machine has thousands of entries)
    except OSError:
        return []
