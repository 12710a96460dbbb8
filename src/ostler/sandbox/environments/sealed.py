"""Directories that are not changed after they were built: read-only, with a fingerprint of their files."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_CACHE = "__pycache__"  # programs of root write there in spite of the mode
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Seal(Struct, frozen=True):
    """What the files of a directory were when it was built."""

    fingerprint: str
    size_bytes: int


def read_seal(directory: Path) -> Seal:
    """Return path, size, time and mode of all files as a fingerprint; content is not read."""
    digest = hashlib.sha256()
    size = 0
    for path, status in _walk(directory):
        size += status.st_size
        facts = (os.path.relpath(path, directory), status.st_size, status.st_mtime_ns, status.st_mode)
        digest.update(repr(facts).encode("utf-8", "surrogateescape"))
    return Seal(digest.hexdigest(), size)


def make_read_only(directory: Path) -> None:
    """Remove the permission to write from all files and directories."""
    for folder, _, names in os.walk(directory):
        for path in (*(Path(folder, name) for name in names), Path(folder)):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~_WRITABLE)


def remove_sealed(directory: Path) -> None:
    """Delete a directory, also one that is read-only; another process may delete it at the same time."""
    _make_writable(directory)
    for folder, names, _ in os.walk(directory):
        for name in names:
            _make_writable(Path(folder, name))
    shutil.rmtree(directory, ignore_errors=True)


def _make_writable(path: Path) -> None:
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            path.chmod(stat.S_IRWXU)
    except FileNotFoundError:
        return


def _walk(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(directory) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _CACHE:
                yield from _walk(Path(entry.path))
        else:
            yield entry.path, entry.stat(follow_symlinks=False)
