"""Measures how much disk space directories use."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

_BLOCK_BYTES = 512  # of st_blocks
_MB = 2**20


class DiskUse(Struct, frozen=True):
    """Allocated bytes of directories, and of each entry directly below them."""

    total: int
    parts: dict[str, int]
    unmeasured: str = ""  # a path that is too long: what is below it is not counted

    def describe_largest(self, count: int = 3) -> str:
        """Return the largest parts, such as: /w/target 900 MB, /w/node_modules 200 MB."""
        largest = sorted(self.parts.items(), key=lambda part: part[1], reverse=True)[:count]
        return ", ".join(f"{path} {size // _MB} MB" for path, size in largest if size >= _MB)


def measure_disk_use(directories: Iterable[Path]) -> DiskUse:
    """Measure directories; links are not followed, other file systems are not entered."""
    parts: dict[str, int] = {}
    counted: set[tuple[int, int]] = set()
    unmeasured: list[str] = []
    for directory in directories:
        device = _device(directory)
        for entry in _list_entries(str(directory), unmeasured):
            size = sum(_list_sizes(entry, device, counted, unmeasured))
            parts[entry.path] = parts.get(entry.path, 0) + size
    return DiskUse(sum(parts.values()), parts, next(iter(unmeasured), ""))


def _list_sizes(
    top: os.DirEntry[str], device: int, counted: set[tuple[int, int]], unmeasured: list[str]
) -> Iterator[int]:
    pending = [top]
    while pending:
        entry = pending.pop()
        try:
            status = entry.stat(follow_symlinks=False)
            is_directory = entry.is_dir(follow_symlinks=False)
        except OSError as error:
            _note(error, entry.path, unmeasured)
            continue
        identity = (status.st_dev, status.st_ino)
        if status.st_dev != device or identity in counted:
            continue
        if is_directory or status.st_nlink > 1:
            counted.add(identity)
        if is_directory:
            pending += _list_entries(entry.path, unmeasured)
        yield status.st_blocks * _BLOCK_BYTES


def _list_entries(directory: str, unmeasured: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        _note(error, directory, unmeasured)
        return []


def _note(error: OSError, path: str, unmeasured: list[str]) -> None:
    """Note a path that is too long; another error means that it was deleted meanwhile."""
    if error.errno == errno.ENAMETOOLONG:
        unmeasured.append(path)


def _device(directory: Path) -> int:
    try:
        return directory.stat().st_dev
    except OSError:
        return -1
