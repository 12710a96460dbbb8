"""The raw bytes of one attempt, on disk as they came."""

from __future__ import annotations

import os

from ostler.files.disk import disk_error

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


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
                raise disk_error(self._path, error) from None

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
            raise disk_error(self._path, error) from None

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
