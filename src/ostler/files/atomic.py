"""Atomic file writes: after a crash a file has its old content, its new content, or does not exist."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from ostler.files.disk import to_disk_error
from ostler.files.failpoint import reach

_PRIVATE_FILE = 0o600
_SHARED_FILE = 0o666
_PRIVATE_DIR = 0o700
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_Install = Callable[[int, str, str], None]


def write_atomic(path: Path, data: bytes, *, mode: int = _PRIVATE_FILE) -> None:
    """Replace the file durably: a power cut after the return cannot undo it."""
    _write(path, data, mode, _replace, durable=True)


def write_projection(path: Path, data: bytes) -> None:
    """Replace a file that can be rebuilt: readers never see half of it, but a power cut may lose it."""
    _write(path, data, _PRIVATE_FILE, _replace, durable=False)


def write_changed_projection(path: Path, data: bytes) -> None:
    """Write like write_projection, unless the file has this content: replacing a file costs 0.4 ms."""
    if not _has_content(path, data):
        write_projection(path, data)


def _has_content(path: Path, data: bytes) -> bool:
    try:
        fd = os.open(path, _READ)
    except OSError:
        return False
    try:
        return os.read(fd, len(data) + 1) == data
    except OSError:  # such as a directory
        return False
    finally:
        os.close(fd)


def write_atomic_at(directory: int, name: str, data: bytes, mode: int | None) -> None:
    """Write like write_atomic, in an open directory; without a mode the umask applies."""
    _write_in(directory, name, data, mode, _replace, durable=True)


def create_exclusive(path: Path, data: bytes, *, durable: bool = True) -> bool:
    """Create a file with its full content; return False when it exists already."""
    try:
        _write(path, data, _PRIVATE_FILE, _link, durable=durable)
    except FileExistsError:
        return False
    return True


def make_private_dir(path: Path, *, durable: bool = True) -> None:
    """Create the directory and its missing parents with mode 0700, whatever the umask."""
    missing = list(takewhile(lambda place: not os.path.lexists(place), (path, *path.parents)))
    with _convert_errors(path):
        for place in reversed(missing):
            _make_dir(place, durable=durable)
        _set_mode(path, _PRIVATE_DIR)


def remake_private_dir(path: Path, inside: Path) -> None:
    """Create a deleted directory again, unless `inside` was deleted too: then it is not wanted any more."""
    with _convert_errors(path):
        is_deleted = not path.is_dir() and inside.is_dir()
    if is_deleted:
        make_private_dir(path)


def remove_temporary_files(directory: Path) -> int:
    """Remove temporary files of writers that no longer run; return how many."""
    found = 0
    with _convert_errors(directory):
        for leftover in directory.glob(".*.tmp"):
            if _writer_is_gone(leftover.name):
                leftover.unlink(missing_ok=True)
                found += 1
    return found


def sync_file(fd: int) -> None:
    """Flush a file to the disk; on macOS fsync alone does not."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)


def sync_filesystem(place: Path) -> None:
    """Flush the whole file system of a directory: agents do not fsync what they write."""
    from ctypes import CDLL, get_errno  # noqa: PLC0415  (only a run needs it)

    syncfs = getattr(CDLL(None, use_errno=True), "syncfs", None)
    with _convert_errors(place), _opened_dir(place) as directory:
        if syncfs is None:
            os.sync()
        elif syncfs(directory) != 0:
            raise OSError(get_errno(), os.strerror(get_errno()))


def sync_directory(directory: int) -> None:
    """Flush the entries of an open directory."""
    try:
        sync_file(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot flush a directory
            raise


def flush_directory(directory: Path) -> None:
    """Flush the entries of a directory: the names of its files."""
    with _convert_errors(directory), _opened_dir(directory) as opened:
        sync_directory(opened)


def _write(path: Path, data: bytes, mode: int, install: _Install, *, durable: bool) -> None:
    with _convert_errors(path), _opened_dir(path.parent) as directory:
        _write_in(directory, path.name, data, mode, install, durable=durable)


def _write_in(
    directory: int, name: str, data: bytes, mode: int | None, install: _Install, *, durable: bool
) -> None:
    tmp = f".{os.getpid()}-{os.urandom(8).hex()}.tmp"
    try:
        _fill(directory, tmp, data, mode, durable=durable)
        reach("file.rename")
        install(directory, tmp, name)
        reach("file.renamed")
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(tmp, dir_fd=directory)
        raise
    if durable:
        sync_directory(directory)


def _fill(directory: int, name: str, data: bytes, mode: int | None, *, durable: bool) -> None:
    fd = os.open(name, _CREATE, _SHARED_FILE if mode is None else _PRIVATE_FILE, dir_fd=directory)
    with os.fdopen(fd, "wb") as file:
        if mode is not None:
            os.fchmod(fd, mode)
        reach("file.write")
        file.write(data)
        file.flush()
        if durable:
            reach("file.flush")
            sync_file(fd)


def _replace(directory: int, tmp: str, name: str) -> None:
    os.replace(tmp, name, src_dir_fd=directory, dst_dir_fd=directory)


def _link(directory: int, tmp: str, name: str) -> None:
    os.link(tmp, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(tmp, dir_fd=directory)


def _make_dir(place: Path, *, durable: bool) -> None:
    with suppress(FileExistsError):
        place.mkdir(_PRIVATE_DIR)
        _set_mode(place, _PRIVATE_DIR)
    if not durable:
        return
    with _opened_dir(place.parent) as parent:
        sync_directory(parent)


def _set_mode(place: Path, mode: int) -> None:
    with _opened_dir(place, os.O_NOFOLLOW) as directory:
        os.fchmod(directory, mode)


def _writer_is_gone(name: str) -> bool:
    pid = name[1:].partition("-")[0]
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # alive, owned by another user
        pass
    return False


@contextmanager
def _opened_dir(path: Path, extra: int = 0) -> Generator[int]:
    directory = os.open(path, _OPEN_DIR | extra)
    try:
        yield directory
    finally:
        os.close(directory)


@contextmanager
def _convert_errors(path: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise to_disk_error(path, error) from error
