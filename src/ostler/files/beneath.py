"""Read and write workspace files by untrusted relative paths that cannot leave the root.

Links that stay below the root are followed for reading; nothing is written through or over a link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ostler.errors import Code, OstlerError
from ostler.files.atomic import sync_directory, write_atomic_at
from ostler.files.disk import to_disk_error, to_machine_error
from ostler.files.paths import link_error, open_any_beneath, open_child, split_beneath
from ostler.text import describe_os_error

_SHARED_DIR = 0o777  # reduced by the umask, as for files that the user creates


def read_beneath(root: Path, relative: str, limit_bytes: int) -> bytes:
    """Return the whole file; raise INPUT_NOT_FOUND when it is missing, not a regular file, or too large."""
    with _readable(root, relative), _opened(root, relative) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _unreadable(root, relative, "not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise _unreadable(root, relative, f"larger than {limit_bytes} bytes")
    return data


def exists_and_not_empty(root: Path, relative: str) -> bool:
    """Return whether a regular file with content exists; raise PathEscape like read_beneath."""
    try:
        with _opened(root, relative) as fd:
            found = os.fstat(fd)
    except OSError as error:
        if (trouble := to_machine_error(error)) is not None:
            raise trouble from error
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def write_beneath(root: Path, relative: str, data: bytes) -> None:
    """Create or replace the file and its parent directories, atomically."""
    *folders, name = split_beneath(relative)
    try:
        with _create_directories(root, folders) as directory:
            write_atomic_at(directory, name, data, _mode_of_old(directory, name, root / relative))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise link_error(relative) from error
        raise to_disk_error(root / relative, error) from error


@contextmanager
def _opened(root: Path, relative: str) -> Generator[int]:
    fd = open_any_beneath(root, relative, os.O_RDONLY, inner_links=True)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _readable(root: Path, relative: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise to_machine_error(error) or _unreadable(root, relative, describe_os_error(error)) from error


@contextmanager
def _create_directories(root: Path, folders: list[str]) -> Generator[int]:
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _create_and_enter(here, folder)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _create_and_enter(here: int, folder: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(folder, _SHARED_DIR, dir_fd=here)
        sync_directory(here)
    return open_child(here, folder)


def _mode_of_old(directory: int, name: str, path: Path) -> int | None:
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(kind):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    if not stat.S_ISREG(kind):
        message = f"cannot write {path}: a directory or special file is in its place"
        raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "move it away, or use another file name")
    return stat.S_IMODE(kind)


def _unreadable(root: Path, relative: str, reason: str) -> OstlerError:
    message = f"cannot read {root / relative}: {reason}"
    return OstlerError(Code.INPUT_NOT_FOUND, message, "check that the path is right and the file is readable")
