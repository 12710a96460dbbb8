"""Process-owned locks: flock on a file that is never deleted; the kernel releases it when the owner dies.

A probe takes the shared lock for an instant and can make an acquisition fail, so acquiring retries for 50 ms.
F_OFD_GETLK would probe without side effects, but does not see flock.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from ostler.errors import Code, OstlerError
from ostler.files.disk import to_disk_error

_TRIES = 11
_PAUSE_SECONDS = 0.005


class LockHandle:
    """A lock held by this process; `fd` can be passed to a child that shares it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> LockHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def try_lock(path: Path, retry: bool = True) -> LockHandle | None:
    """Acquire the lock; return None when it is held elsewhere. Callers that poll pass retry=False."""
    fd = _open(path)
    tries = _TRIES if retry else 1
    for turn in range(tries):
        if _flock(fd, fcntl.LOCK_EX):
            return LockHandle(fd)
        if turn < tries - 1:
            time.sleep(_PAUSE_SECONDS)
    os.close(fd)
    return None


def wait_for_lock(path: Path, seconds: float) -> LockHandle:
    """Acquire the lock of a small file; raise STATE_BUSY when another process holds it for so long."""
    until = time.monotonic() + seconds
    while (held := try_lock(path)) is None:
        if time.monotonic() > until:
            raise OstlerError(Code.STATE_BUSY, f"{path} is held by another process", "try it again")
    return held


def try_shared_lock(path: Path) -> LockHandle | None:
    """Acquire the lock together with other users of it; return None when one holds it exclusively."""
    fd = _open(path)
    if _flock(fd, fcntl.LOCK_SH):
        return LockHandle(fd)
    os.close(fd)
    return None


def is_locked(path: Path) -> bool:
    """Return whether the lock is held now; creates no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise to_disk_error(path, error) from error
    try:
        return not _flock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        fd = _open_or_create(path)
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise to_disk_error(path, error) from error
    return fd


def _open_or_create(path: Path) -> int:
    """Open the file; a deleted directory of locks is created again, in a project that still exists."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _flock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
