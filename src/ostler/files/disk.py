"""Convert operating system errors into error codes and messages."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ostler.errors import Code, OstlerError, UsageError
from ostler.text import describe_os_error

_OUT_OF_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_MACHINE_ERRORS = _OUT_OF_SPACE | _OUT_OF_RESOURCES | {errno.EIO, errno.EROFS}
_REDUCE_LOAD = "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs"


def to_disk_error(path: Path | str, error: OSError) -> OstlerError:
    """Return the error for a path that could not be written."""
    reason = describe_os_error(error)
    if error.errno in _OUT_OF_SPACE:
        return OstlerError(
            Code.DISK_FULL,
            f"no space left to write {path}",
            "free some space, then run again; nothing is lost",
        )
    if error.errno == errno.EIO:
        return OstlerError(Code.STORAGE_ERROR, f"I/O error on {path}: {reason}", "check the disk")
    if error.errno in _OUT_OF_RESOURCES:
        return OstlerError(Code.SPAWN_FAILED, f"cannot open {path}: {reason}", _REDUCE_LOAD)
    message, hint = f"cannot write {path}: {reason}", "check that the directory exists and is writable"
    if error.errno == errno.EROFS:
        return UsageError(message, hint, Code.WORKSPACE_WRITE_FAILED)
    return OstlerError(Code.WORKSPACE_WRITE_FAILED, message, hint)


def to_machine_error(error: BaseException) -> OstlerError | None:
    """Return the error when the machine is the cause; None when it may be a bug of Ostler."""
    if isinstance(error, OSError) and error.errno in _MACHINE_ERRORS:
        return to_disk_error(error.filename or "a file", error)
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return OstlerError(Code.SPAWN_FAILED, "the machine is out of memory or threads", _REDUCE_LOAD)
    return None


def require_writable(place: Path) -> None:
    """Raise UsageError for a directory that cannot be written, including a read-only disk."""
    if place.exists() and not os.access(place, os.W_OK | os.X_OK):
        reason = "read-only file system" if _is_read_only(place) else "permission denied"
        raise UsageError(f"cannot write in {place}: {reason}", "make it writable, then run again")


def _is_read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def require_utf8(path: Path) -> None:
    """Raise UsageError for a path that is not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise UsageError(f"the path {shown} is not valid UTF-8", "rename the directory") from None
