"""Ownership that the kernel gives back when its owner dies: flock on a file that is never deleted.

A probe takes the shared lock for an instant. A taker that meets one would be refused, so it asks again for
50 ms; a true owner holds for longer than that. (F_OFD_GETLK would probe without a trace, but sees no flock.)
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from ostler.files.disk import disk_error

_TRIES = 11
_PAUSE_SECONDS = 0.005


class Held:
    """A lock that this process owns; `fd` may be handed to a child that should share it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def try_lock(path: Path, patient: bool = True) -> Held | None:
    """The lock, or None when someone else owns it; who asks again anyway need not be patient."""
    fd = _open(path)
    tries = _TRIES if patient else 1
    for turn in range(tries):
        if _flock(fd, fcntl.LOCK_EX):
            return Held(fd)
        if turn < tries - 1:
            time.sleep(_PAUSE_SECONDS)
    os.close(fd)
    return None


def is_locked(path: Path) -> bool:
    """Whether someone owns the lock at this moment; makes no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise disk_error(path, error) from error
    try:
        return not _flock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise disk_error(path, error) from error
    return fd


def _flock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
