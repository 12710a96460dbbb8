"""The standard streams of a running program: buffered input, output in chunks, lines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

from ostler.errors import Code, OstlerError

MAX_PENDING_INPUT_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 256 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024


class Input:
    """Writes to a program without blocking; bytes that do not fit into the pipe are sent later."""

    def __init__(self, descriptor: int, limit_bytes: int = MAX_PENDING_INPUT_BYTES) -> None:
        self._descriptor = descriptor
        self._limit = limit_bytes
        self._pending = bytearray()
        self._is_ending = False
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Send bytes, or drop them if the input is closed. Raises OstlerError when too many are pending."""
        if self._descriptor < 0 or self._is_ending:
            return
        if len(self._pending) + len(data) > self._limit:
            raise OstlerError(
                Code.AGENT_FAILED,
                f"the program does not read its input: {len(self._pending)} bytes are pending",
                "see its transcript",
            )
        self._pending += data
        self._flush()

    def end(self) -> None:
        """Close the input after all pending bytes are sent."""
        self._is_ending = True
        self._flush()

    def close(self) -> None:
        """Close the input now; can be called twice."""
        if self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._pending.clear()

    def _flush(self) -> None:
        try:
            while self._pending and self._descriptor >= 0:
                del self._pending[: os.write(self._descriptor, self._pending)]
        except BlockingIOError:
            self._loop.add_writer(self._descriptor, self._flush)
            return
        except OSError:
            self.close()  # it closed its input
            return
        self._finish_flush()

    def _finish_flush(self) -> None:
        if self._is_ending:
            self.close()
        elif self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)


class Output:
    """Passes every chunk to `consume`; errors of `consume` go to `on_error`, and reading continues."""

    def __init__(
        self,
        descriptor: int | None,
        consume: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._descriptor = descriptor
        self._consume = consume
        self._on_end = on_end
        self._on_error = on_error
        self._loop = asyncio.get_running_loop()
        self.open = descriptor is not None
        if descriptor is not None:
            self._loop.add_reader(descriptor, self._read)

    def drain(self) -> None:
        """Read what is available without waiting."""
        while self.open and self._read():
            pass

    def close(self) -> None:
        """Stop reading."""
        if self.open and self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
        self.open = False

    def _read(self) -> bool:
        """Return whether a chunk was read."""
        assert self._descriptor is not None
        try:
            chunk = os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""  # a terminal without users reports EIO
        if not chunk:
            self.close()
            self._on_end()
            return False
        try:
            self._consume(chunk)
        except BaseException as error:  # noqa: BLE001  (a callback's error would only be logged: run() raises it)
            self._on_error(error)
        return True


class LineSplitter:
    """Splits chunks into lines without line endings; lines over the limit are counted and skipped."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.long_lines = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that are complete."""
        first, newline, rest = chunk.partition(b"\n")
        self._append(first)
        if not newline:
            return
        yield from self._take_line()
        *whole, last = rest.split(b"\n")
        for line in whole:
            if len(line) <= self._max_bytes:
                yield line[:-1] if line.endswith(b"\r") else line
            else:
                self.long_lines += 1
        self._append(last)

    def finish(self) -> Iterator[bytes]:
        """Yield the last line if it has no newline."""
        if self._size or self._skipping:
            yield from self._take_line()

    def _append(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_bytes:
            self._skipping = True
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take_line(self) -> Iterator[bytes]:
        skipped, line = self._skipping, b"".join(self._parts)
        self._parts.clear()
        self._size, self._skipping = 0, False
        if skipped:
            self.long_lines += 1
        else:
            yield line[:-1] if line.endswith(b"\r") else line
