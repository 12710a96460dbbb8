"""Files that are old, absent or whole, whatever happens while they are written."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from ostler.files.disk import disk_error
from ostler.files.failpoint import reach

_PRIVATE_FILE = 0o600
_SHARED_FILE = 0o666
_PRIVATE_DIR = 0o700
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_Place = Callable[[int, str, str], None]


def write_atomic(path: Path, data: bytes, *, mode: int = _PRIVATE_FILE) -> None:
    """Replace the file; when this returns, a power cut cannot undo it."""
    _write(path, data, mode, _replace, durable=True)


def write_projection(path: Path, data: bytes) -> None:
    """Replace a file that can be rebuilt: never seen half written, but a power cut may lose it."""
    _write(path, data, _PRIVATE_FILE, _replace, durable=False)


def write_in(directory: int, name: str, data: bytes, mode: int | None) -> None:
    """The same as write_atomic in a directory that is open; without a mode, as the umask says."""
    _write_in(directory, name, data, mode, _replace, durable=True)


def create_once(path: Path, data: bytes, *, durable: bool = True) -> bool:
    """Write a new file, whole from its first moment; False when there is one already, which is left."""
    try:
        _write(path, data, _PRIVATE_FILE, _link, durable=durable)
    except FileExistsError:
        return False
    return True


def make_private_dir(path: Path) -> None:
    """Make the directory and its missing parents, 0700 whatever the umask."""
    missing = list(takewhile(lambda place: not os.path.lexists(place), (path, *path.parents)))
    with _explained(path):
        for place in reversed(missing):
            _make_dir(place)
        _set_mode(path, _PRIVATE_DIR)


def remove_leftovers(directory: Path) -> int:
    """Remove what writers that died left unfinished here, and count it."""
    found = 0
    with _explained(directory):
        for leftover in directory.glob(".*.tmp"):
            if _writer_is_gone(leftover.name):
                leftover.unlink(missing_ok=True)
                found += 1
    return found


def flush(fd: int) -> None:
    """Ask the disk itself to keep what was written; fsync alone does not, on macOS."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)


def flush_disk(place: Path) -> None:
    """Have all kept that was written on the disk of this directory: an agent flushes nothing itself."""
    from ctypes import CDLL, get_errno  # noqa: PLC0415  (only a run needs it)

    syncfs = getattr(CDLL(None, use_errno=True), "syncfs", None)
    with _explained(place), _opened_dir(place) as directory:
        if syncfs is None:
            os.sync()
        elif syncfs(directory) != 0:
            raise OSError(get_errno(), os.strerror(get_errno()))


def flush_dir(directory: int) -> None:
    """Have the names in an open directory kept."""
    try:
        flush(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot flush a directory
            raise


def _write(path: Path, data: bytes, mode: int, place: _Place, *, durable: bool) -> None:
    with _explained(path), _opened_dir(path.parent) as directory:
        _write_in(directory, path.name, data, mode, place, durable=durable)


def _write_in(
    directory: int, name: str, data: bytes, mode: int | None, place: _Place, *, durable: bool
) -> None:
    tmp = f".{os.getpid()}-{os.urandom(8).hex()}.tmp"
    try:
        _fill(directory, tmp, data, mode, durable=durable)
        reach("file.rename")
        place(directory, tmp, name)
        reach("file.renamed")
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(tmp, dir_fd=directory)
        raise
    if durable:
        flush_dir(directory)


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
            flush(fd)


def _replace(directory: int, tmp: str, name: str) -> None:
    os.replace(tmp, name, src_dir_fd=directory, dst_dir_fd=directory)


def _link(directory: int, tmp: str, name: str) -> None:
    os.link(tmp, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(tmp, dir_fd=directory)


def _make_dir(place: Path) -> None:
    with suppress(FileExistsError):
        place.mkdir(_PRIVATE_DIR)
        _set_mode(place, _PRIVATE_DIR)
    with _opened_dir(place.parent) as parent:
        flush_dir(parent)


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
    except PermissionError:  # alive, and someone else's
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
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise disk_error(path, error) from error
