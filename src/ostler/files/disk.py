"""What an error of the machine means: one place turns an errno into a code and a sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ostler.errors import Code, OstlerError, UsageError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_MACHINES = _FULL | _SHORT | {errno.EIO, errno.EROFS}
_FEWER = "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs"


def disk_error(path: Path | str, error: OSError) -> OstlerError:
    """The error for a person, naming the path that could not be written."""
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    if error.errno in _FULL:
        return OstlerError(
            Code.DISK_FULL, f"no space left to write {path}", "free some space; the work goes on"
        )
    if error.errno == errno.EIO:
        return OstlerError(Code.STORAGE_ERROR, f"the disk would not keep {path}: {reason}", "check the disk")
    if error.errno in _SHORT:
        return OstlerError(Code.SPAWN_FAILED, f"the machine would not open {path}: {reason}", _FEWER)
    message, hint = f"cannot write {path}: {reason}", "check that the place exists and is yours"
    if error.errno == errno.EROFS:
        return UsageError(message, hint, Code.WORKSPACE_WRITE_FAILED)
    return OstlerError(Code.WORKSPACE_WRITE_FAILED, message, hint)


def machine_error(error: BaseException) -> OstlerError | None:
    """The error for a person when only the machine can be the cause; None for what may be a bug of ours."""
    if isinstance(error, OSError) and error.errno in _MACHINES:
        return disk_error(error.filename or "a file", error)
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return OstlerError(Code.SPAWN_FAILED, "the machine has no memory or threads left", _FEWER)
    return None


def require_writable(place: Path) -> None:
    """Raise UsageError for a directory in which nothing can be made, a read-only disk included."""
    if place.exists() and not os.access(place, os.W_OK | os.X_OK):
        reason = "it is on a read-only disk" if _is_read_only(place) else "permission denied"
        raise UsageError(f"cannot write in {place}: {reason}", "make it writable, then run again")


def _is_read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)
