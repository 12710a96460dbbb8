"""The raw bytes of one attempt, on disk as they came."""

from __future__ import annotations

import errno
import os

from ostler.errors import Code, OstlerError

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BROKEN = (errno.EIO, errno.EROFS)


class Transcript:
    """Appends to one file, made on the first byte; without a path it keeps nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def open(self) -> None:
        """Make the file now. Raises OstlerError when the place cannot be written."""
        if self._path and self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, _FLAGS, 0o600)
            except OSError as error:
                raise self._refused(error) from None

    def write(self, data: bytes) -> None:
        """Append all of it, or raise OstlerError."""
        self.open()
        if self._descriptor is None:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise self._refused(error) from None

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _refused(self, error: OSError) -> OstlerError:
        reason = f"The transcript {self._path} could not be written: {error.strerror}."
        if error.errno in _FULL:
            return OstlerError(Code.DISK_FULL, reason, "free some space; the task goes on where it was")
        if error.errno in _BROKEN:
            return OstlerError(Code.STORAGE_ERROR, reason, "check the disk, then run the task again")
        return OstlerError(
            Code.WORKSPACE_WRITE_FAILED, reason, "check that the directory exists and is yours"
        )
