"""Detects processes that use a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def is_occupied(directory: Path) -> bool:
    """Return whether a process of this user has its working directory or an open file below it; False if
    unknown.
    """
    inside = f"{directory.resolve()}/"
    others = (name for name in _list_names("/proc") if name.isdecimal() and int(name) != os.getpid())
    return any(f"{path}/".startswith(inside) for pid in others for path in _list_paths(f"/proc/{pid}"))


def _list_paths(process: str) -> Iterator[str]:
    for link in (f"{process}/cwd", *(f"{process}/fd/{name}" for name in _list_names(f"{process}/fd"))):
        try:
            yield os.readlink(link)  # noqa: PTH115  (the exact text of the kernel)
        except OSError:
            continue  # it exited, or belongs to another user


def _list_names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208  (a machine has thousands of entries)
    except OSError:
        return []
