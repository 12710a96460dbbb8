"""What an error of the disk means: one place turns an errno into a code and a sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ostler.errors import Code, OstlerError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def disk_error(path: Path, error: OSError) -> OstlerError:
    """The error for a person, naming the path that could not be written."""
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    if error.errno in _FULL:
        return OstlerError(
            Code.DISK_FULL, f"no space left to write {path}", "free some space; the work goes on"
        )
    if error.errno == errno.EIO:
        return OstlerError(Code.STORAGE_ERROR, f"the disk would not keep {path}: {reason}", "check the disk")
    return OstlerError(
        Code.WORKSPACE_WRITE_FAILED,
        f"cannot write {path}: {reason}",
        "check that the place exists and is yours",
    )
