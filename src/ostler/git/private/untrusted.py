"""Reads files of a directory that an agent wrote: regular files only, never through a link, up to a size."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from ostler.errors import PathEscape
from ostler.files.paths import open_beneath

_READ = os.O_RDONLY


class TooLarge(Exception):
    """The agent's files exceed a limit."""


@contextmanager
def open_untrusted(root: Path, relative: str) -> Generator[int]:
    """Open a regular file; raise OSError for everything else."""
    try:
        descriptor = open_beneath(root, relative, _READ)
    except PathEscape as error:
        raise OSError(str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{relative} is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def read_untrusted(root: Path, relative: str, limit_bytes: int) -> bytes | None:
    """Return the content; None if there is no such regular file, or it is larger."""
    try:
        with open_untrusted(root, relative) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(limit_bytes + 1)
    except OSError:
        return None
    return content if len(content) <= limit_bytes else None


def walk_untrusted(root: Path, relative: str, max_depth: int, max_entries: int) -> Iterator[str]:
    """Yield the files below a directory, relative to `root`; raise TooLarge for too many entries.

    Links and what is deeper than `max_depth` are left out.
    """
    waiting, count = [(relative, 1)], 0
    while waiting:
        folder, depth = waiting.pop()
        for name, is_directory in _list_entries(root / folder):
            count += 1
            if count > max_entries:
                raise TooLarge(f"more than {max_entries} entries below {relative}")
            if not is_directory:
                yield f"{folder}/{name}"
            elif depth < max_depth:
                waiting.append((f"{folder}/{name}", depth + 1))


def is_real_directory(path: Path) -> bool:
    """Return whether the path is a directory and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _list_entries(folder: Path) -> list[tuple[str, bool]]:
    """Return the names of files and directories; links and special files are left out."""
    if not is_real_directory(folder):
        return []
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
