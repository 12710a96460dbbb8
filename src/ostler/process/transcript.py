"""Writes the raw output of an attempt to a file, up to a limit."""

from __future__ import annotations

import os

from ostler.files.disk import to_disk_error

LIMIT_BYTES = 256 * 1024 * 1024
TAIL_BYTES = 1024 * 1024  # kept at the end, beyond the limit
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Transcript:
    """Appends to a file that is created on the first byte; without a path, it writes nothing.

    Beyond the limit only the last bytes are kept. A line between the two parts states how many bytes are
    missing.
    """

    def __init__(self, path: str, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._remaining = limit_bytes
        self._skipped = 0
        self._tail = b""
        self._descriptor: int | None = None

    def open(self) -> None:
        """Create the file. Raises OstlerError when that fails."""
        if self._path and self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, _FLAGS, 0o600)
            except OSError as error:
                raise to_disk_error(self._path, error) from None

    def write(self, data: bytes) -> None:
        """Append bytes. Raises OstlerError when that fails."""
        self.open()
        if self._descriptor is None:
            return
        if len(data) <= self._remaining:
            self._remaining -= len(data)
            self._append(data)
            return
        self._append(data[: self._remaining])
        skipped, self._remaining = data[self._remaining :], 0
        self._skipped += len(skipped)
        self._tail = (self._tail + skipped)[-TAIL_BYTES:]

    def close(self) -> None:
        if self._descriptor is None:
            return
        try:
            if self._skipped:
                missing = self._skipped - len(self._tail)
                self._append(b'\n{"type":"ostler_cut","bytes":%d}\n' % missing + self._tail)
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, data: bytes) -> None:
        assert self._descriptor is not None
        remaining = memoryview(data)
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
        except OSError as error:
            raise to_disk_error(self._path, error) from None
