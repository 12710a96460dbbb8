"""Reads the attempt logs of a task in blocks of whole lines, in bounded memory and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

BLOCK_BYTES = 1024 * 1024
_MAX_LINE_BYTES = 8 * BLOCK_BYTES  # a longer line is not an entry


class Place(Struct, frozen=True):
    """The start of a line in the log of an attempt."""

    attempt: int
    offset: int = 0


class LogFile(Struct, frozen=True):
    attempt: int
    path: Path


class Block(Struct, frozen=True):
    """Whole lines of one log."""

    attempt: int
    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its offset in the file."""
        offset = self.offset
        for line in self.data.split(b"\n"):
            if line:
                yield offset, line
            offset += len(line) + 1


class Progress(Struct, frozen=True):
    """How much of the logs has been read."""

    next: Place  # where the next page starts
    done: bool  # there is nothing to read there now; a running attempt may add to it
    scanned: int  # bytes before that place
    total: int


class LogScan:
    """Yields blocks from a place on, at least one, until the time is over."""

    def __init__(
        self, files: Sequence[LogFile], start: Place, monotonic: Callable[[], float], seconds: float
    ) -> None:
        self._files = [one for one in files if one.attempt >= start.attempt]
        self._sizes = {one.attempt: _size(one.path) for one in files}
        self._monotonic = monotonic
        self._deadline = monotonic() + seconds
        self._next = start
        self._done = False

    def blocks(self) -> Iterator[Block]:
        for one in self._files:
            if one.attempt != self._next.attempt:
                self._next = Place(one.attempt)
            for block in _read_blocks(one, self._next.offset):
                self._next = Place(one.attempt, block.end)
                yield block
                if self._monotonic() >= self._deadline:
                    return
        self._done = True

    def stop_at(self, place: Place) -> None:
        """Let the next page start within the last block."""
        self._next = place

    @property
    def progress(self) -> Progress:
        before = sum(size for number, size in self._sizes.items() if number < self._next.attempt)
        total = sum(self._sizes.values())
        return Progress(self._next, self._done, min(total, before + self._next.offset), total)


def _read_blocks(log: LogFile, offset: int) -> Iterator[Block]:
    with suppress(FileNotFoundError), log.path.open("rb") as file:
        file.seek(offset)
        while data := _read_lines(file):
            if len(data) <= BLOCK_BYTES + _MAX_LINE_BYTES:
                yield Block(log.attempt, offset, data)
            offset += len(data)


def _read_lines(file: BinaryIO) -> bytes:
    """Return about a block of whole lines; an incomplete last line is left for a later call."""
    data = file.read(BLOCK_BYTES)
    if not data.endswith(b"\n"):
        data += file.readline()
    return data[: data.rfind(b"\n") + 1]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
