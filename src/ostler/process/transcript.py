"""The raw bytes of one attempt, on disk as they came, up to a limit."""

from __future__ import annotations

import os

from ostler.files.disk import disk_error

LIMIT_BYTES = 256 * 1024 * 1024
TAIL_BYTES = 1024 * 1024  # of what is beyond the limit, the end is kept as well
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Transcript:
    """Appends to one file, made on the first byte; without a path it keeps nothing.

    Beyond the limit only the end is kept. A line between the two says how many bytes are missing.
    """

    def __init__(self, path: str, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._room = limit_bytes
        self._beyond = 0
        self._tail = b""
        self._descriptor: int | None = None

    def open(self) -> None:
        """Make the file now. Raises OstlerError when the place cannot be written."""
        if self._path and self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, _FLAGS, 0o600)
            except OSError as error:
                raise disk_error(self._path, error) from None

    def write(self, data: bytes) -> None:
        """Append it, or raise OstlerError."""
        self.open()
        if self._descriptor is None:
            return
        if len(data) <= self._room:
            self._room -= len(data)
            self._append(data)
            return
        self._append(data[: self._room])
        beyond, self._room = data[self._room :], 0
        self._beyond += len(beyond)
        self._tail = (self._tail + beyond)[-TAIL_BYTES:]

    def close(self) -> None:
        if self._descriptor is None:
            return
        try:
            if self._beyond:
                missing = self._beyond - len(self._tail)
                self._append(b'\n{"type":"ostler_cut","bytes":%d}\n' % missing + self._tail)
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, data: bytes) -> None:
        assert self._descriptor is not None
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise disk_error(self._path, error) from None
