"""Writes into a directory that an agent can change: it follows no link and removes what is in the way."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ostler.files.paths import open_child, split_beneath

_MODE = 0o600
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_private(root: Path, relative: str, content: bytes) -> None:
    """Replace a file below a private directory, in one step; one that has the content is left."""
    with _opened_parent(root, relative) as (directory, name):
        if _has_content(directory, name, content):
            return
        temporary = f".{os.urandom(8).hex()}.tmp"
        with os.fdopen(os.open(temporary, _FILE, _MODE, dir_fd=directory), "wb") as file:
            file.write(content)
        if _kind(directory, name) == stat.S_IFDIR:
            _remove(directory, name)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)


def _has_content(directory: int, name: str, content: bytes) -> bool:
    """Return whether the entry is a file as it would be written: reading it is ten times faster."""
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError:  # such as a link, or a file without permissions
        return False
    try:
        found = os.fstat(descriptor)
        is_own = found.st_mode == stat.S_IFREG | _MODE and found.st_nlink == 1
        return is_own and found.st_size == len(content) and os.read(descriptor, len(content) + 1) == content
    except OSError:
        return False
    finally:
        os.close(descriptor)


def remove_private(root: Path, relative: str) -> None:
    """Remove a file or directory below a private directory, if it is there."""
    with suppress(FileNotFoundError), _opened_parent(root, relative, create=False) as (directory, name):
        _remove(directory, name)


@contextmanager
def _opened_parent(root: Path, relative: str, *, create: bool = True) -> Generator[tuple[int, str]]:
    *folders, name = split_beneath(relative)
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _make_directory(here, folder) if create else _open_directory(here, folder)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _open_directory(here: int, name: str) -> int:
    try:
        return open_child(here, name)
    except OSError as error:
        # A link, a file, or a directory without permissions: nothing of ours is below it.
        raise FileNotFoundError(error.errno, error.strerror, name) from error


def _make_directory(here: int, name: str) -> int:
    with suppress(FileNotFoundError):
        return _open_directory(here, name)
    if _kind(here, name):
        _remove(here, name)
    os.mkdir(name, 0o700, dir_fd=here)
    return _open_directory(here, name)


def _kind(here: int, name: str) -> int:
    """Return the type of an entry; 0: there is none."""
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def _remove(here: int, name: str) -> None:
    if _kind(here, name) != stat.S_IFDIR:
        os.unlink(name, dir_fd=here)
        return
    with suppress(RecursionError):  # for thousands of directories, one in the other
        shutil.rmtree(name, ignore_errors=True, dir_fd=here)
    if _kind(here, name):
        # A directory without permissions, or a deep one, cannot be emptied, but it can be moved.
        os.rename(name, f".removed-{os.urandom(8).hex()}", src_dir_fd=here, dst_dir_fd=here)
