"""Bytes to lines, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_LINE = 16 * 1024 * 1024


class LineSplitter:
    """Cuts chunks into lines without their ending; a line over the limit is counted and skipped."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.long_lines = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that are complete now."""
        first, newline, rest = chunk.partition(b"\n")
        self._keep(first)
        if not newline:
            return
        yield from self._take()
        *whole, last = rest.split(b"\n")
        for line in whole:
            if len(line) <= self._longest:
                yield line[:-1] if line.endswith(b"\r") else line
            else:
                self.long_lines += 1
        self._keep(last)

    def finish(self) -> Iterator[bytes]:
        """The last line, when it has no newline."""
        if self._size or self._skipping:
            yield from self._take()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            self._skipping = True
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> Iterator[bytes]:
        skipped, line = self._skipping, b"".join(self._parts)
        self._parts.clear()
        self._size, self._skipping = 0, False
        if skipped:
            self.long_lines += 1
        else:
            yield line[:-1] if line.endswith(b"\r") else line
