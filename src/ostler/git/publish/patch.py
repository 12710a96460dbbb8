"""Reads the lines that a patch of git adds, as blocks of consecutive lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

_MAX_BLOCK_BYTES = 1_000_000  # a line can be as long as a file
_MAX_SECRET_BYTES = 16_384  # of a secret between two blocks
_HUNK = re.compile(rb"@@@* (?:-\S+ )+\+(\d+)")


class AddedText(Struct, frozen=True):
    """Consecutive lines that a commit adds to a file."""

    commit: str
    path: str
    line: int  # number of the first one
    text: bytes


def read_added(lines: Iterable[bytes]) -> Iterator[AddedText]:
    """Yield what a patch adds; a long text is split into blocks that overlap."""
    reader = _PatchReader()
    for line in lines:
        yield from reader.read(line)
    yield from reader.end_block()


class _PatchReader:
    """Reads a patch line by line, or a long line in pieces, and tracks the position."""

    def __init__(self) -> None:
        self.commit = self.path = ""
        self.line = 0  # of the next line; 0: between two files
        self.mark = b"+"  # one + per parent: a line that no parent has
        self.first = 0  # line of the block
        self.block = bytearray()
        self.is_open = False  # the last piece did not end its line
        self.is_added = False  # that line is an added one

    def read(self, text: bytes) -> Iterator[AddedText]:
        """Read the next line of the patch, or part of a line; yield the block that it ends."""
        if self.is_open and self.is_added:
            yield from self._add(text)
        elif not self.is_open:
            self.is_added = self._is_added(text)
            if self.is_added:
                yield from self._add(text[len(self.mark) :])
            else:
                yield from self.end_block()
                self._read_other(text)
        self.is_open = not text.endswith(b"\n")
        self.line += self.is_added and not self.is_open

    def end_block(self) -> Iterator[AddedText]:
        """Yield the lines so far."""
        if self.block:
            yield AddedText(self.commit, self.path, self.first, bytes(self.block))
            self.block.clear()

    def _is_added(self, text: bytes) -> bool:
        return self.line > 0 and text.startswith(self.mark)

    def _add(self, text: bytes) -> Iterator[AddedText]:
        if not self.block:
            self.first = self.line
        self.block += text
        if len(self.block) > _MAX_BLOCK_BYTES:
            yield AddedText(self.commit, self.path, self.first, bytes(self.block))
            self.first += self.block.count(b"\n", 0, len(self.block) - _MAX_SECRET_BYTES)
            del self.block[:-_MAX_SECRET_BYTES]

    def _read_other(self, text: bytes) -> None:
        if text.startswith(b"commit "):
            self.commit, self.line = text[7:].decode().strip(), 0
        elif text.startswith(b"+++ ") and not self.line:
            name = text[4:].rstrip(b"\n").rstrip(b"\t").strip(b'"').removeprefix(b"b/")
            self.path = os.fsdecode(name)
        elif text.startswith(b"@@"):
            self._start_hunk(text)
        elif text.startswith(b"diff --"):
            self.line = 0
        elif self.line and not text.startswith(b"\\") and b"-" not in text[: len(self.mark)]:
            self.line += 1  # of one parent

    def _start_hunk(self, text: bytes) -> None:
        found = _HUNK.match(text)
        self.line = int(found[1]) if found else 0
        self.mark = b"+" * (len(text) - len(text.lstrip(b"@")) - 1)
