"""Files of a workspace, read and written by a path that others chose: neither can leave the root.

A link is followed for reading when it stays below the root; nothing is ever written through or over one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ostler.errors import Code, OstlerError
from ostler.files.atomic import flush_dir, write_in
from ostler.files.disk import disk_error, machine_error
from ostler.files.paths import crossing, open_anything_beneath, parts_beneath, step_into

_SHARED_DIR = 0o777  # the umask takes away from it, as from what a person makes


def read_beneath(root: Path, relative: str, limit_bytes: int) -> bytes:
    """The whole file; INPUT_NOT_FOUND for one that is not there, no plain file, or larger than the limit."""
    with _readable(root, relative), _opened(root, relative) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _unreadable(root, relative, "it is no plain file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise _unreadable(root, relative, f"it is larger than {limit_bytes} bytes")
    return data


def exists_and_not_empty(root: Path, relative: str) -> bool:
    """Whether there is a plain file with something in it; PathEscape as for reading it."""
    try:
        with _opened(root, relative) as fd:
            found = os.fstat(fd)
    except OSError as error:
        if (trouble := machine_error(error)) is not None:
            raise trouble from error
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def write_beneath(root: Path, relative: str, data: bytes) -> None:
    """Make or replace the file, and the directories on its way; others see the old or the whole new one."""
    *folders, name = parts_beneath(relative)
    try:
        with _made(root, folders) as directory:
            write_in(directory, name, data, _mode_of_old(directory, name, root / relative))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise crossing(relative) from error
        raise disk_error(root / relative, error) from error


@contextmanager
def _opened(root: Path, relative: str) -> Generator[int]:
    fd = open_anything_beneath(root, relative, os.O_RDONLY, inner_links=True)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _readable(root: Path, relative: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise machine_error(error) or _unreadable(root, relative, reason) from error


@contextmanager
def _made(root: Path, folders: list[str]) -> Generator[int]:
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _make_and_enter(here, folder)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _make_and_enter(here: int, folder: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(folder, _SHARED_DIR, dir_fd=here)
        flush_dir(here)
    return step_into(here, folder)


def _mode_of_old(directory: int, name: str, path: Path) -> int | None:
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(kind):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    if not stat.S_ISREG(kind):
        message = f"cannot write {path}: what is there is no plain file"
        raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "move it away, or name another file")
    return stat.S_IMODE(kind)


def _unreadable(root: Path, relative: str, reason: str) -> OstlerError:
    message = f"cannot read {root / relative}: {reason}"
    return OstlerError(Code.INPUT_NOT_FOUND, message, "check the path, and that the file is there and yours")
