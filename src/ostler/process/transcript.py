"""Writes the raw output of an attempt to a file, without secrets and up to a limit."""

from __future__ import annotations

import os

from ostler.errors import Code
from ostler.files.disk import to_disk_error
from ostler.secrets.deltas import DeltaRedactor
from ostler.secrets.stream import RedactingStream
from ostler.waits import report_wait

LIMIT_BYTES = 256 * 1024 * 1024
TAIL_BYTES = 1024 * 1024  # kept at the end, beyond the limit
UNWRITTEN_BYTES = 1024 * 1024  # kept in memory while the disk is full
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Transcript:
    """Appends to a file that is created on the first byte; without a path, it writes nothing.

    Beyond the limit only the last bytes are kept. A line between the two parts states how many bytes are
    missing. An end that may be the beginning of a secret is written with the next bytes; with `joins_texts`,
    also a line of JSON whose text continues in the next line. While the disk is full, bytes are kept in
    memory: an agent is not stopped, because its answer is paid for.
    """

    def __init__(self, path: str, limit_bytes: int = LIMIT_BYTES, joins_texts: bool = False) -> None:
        self._path = path
        self._remaining = limit_bytes
        self._skipped = 0
        self._tail = b""
        self._unwritten = b""
        self._descriptor: int | None = None
        self._redacting = RedactingStream()
        self._texts = DeltaRedactor() if joins_texts else None

    def open(self) -> None:
        """Create the file. Raises OstlerError when that fails."""
        if self._path and self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, _FLAGS, 0o600)
            except OSError as error:
                raise to_disk_error(self._path, error) from None

    def write_lines(self, data: bytes, is_clean: bool) -> None:
        """Append whole lines; `is_clean`: `find_secrets` found nothing in them. Raises OstlerError."""
        self.open()
        self._write(self._redacting.feed(data, is_clean))

    def write(self, data: bytes) -> bytes:
        """Append bytes and return them as they are written. Raises OstlerError when that fails."""
        self.open()
        return self._write(self._redacting.feed(self._texts.feed(data) if self._texts else data))

    def _write(self, data: bytes) -> bytes:
        if self._descriptor is None:
            return data
        if len(data) <= self._remaining:
            self._remaining -= len(data)
            self._append(data)
            return data
        self._append(data[: self._remaining])
        skipped, self._remaining = data[self._remaining :], 0
        self._skipped += len(skipped)
        self._tail = (self._tail + skipped)[-TAIL_BYTES:]
        return data

    def close(self) -> bytes:
        """Write what was held back and close the file; return what was written."""
        last = self._texts.finish() if self._texts else b""
        rest = self._redacting.feed(last) + self._redacting.finish()
        if self._descriptor is None:
            return rest
        try:
            self._write(rest)
            if self._skipped:
                missing = self._skipped - len(self._tail)
                self._append(b'\n{"type":"ostler_cut","bytes":%d}\n' % missing + self._tail)
            if self._unwritten:
                report_wait(f"no space left: the last {len(self._unwritten)} bytes of {self._path} are lost")
        finally:
            os.close(self._descriptor)
            self._descriptor = None
        return rest

    def _append(self, data: bytes) -> None:
        assert self._descriptor is not None
        remaining = memoryview(self._unwritten + data)
        self._unwritten = b""
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
        except OSError as error:
            translated = to_disk_error(self._path, error)
            if translated.code is not Code.DISK_FULL or len(remaining) > UNWRITTEN_BYTES:
                raise translated from None
            self._unwritten = bytes(remaining)
