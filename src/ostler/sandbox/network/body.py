"""The body of an HTTP/1 message, read piece by piece as it arrives."""

from __future__ import annotations

import asyncio
import re

from ostler.sandbox.network.head import Framing, MessageInvalid

PIECE = 64 << 10
_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}\Z")
_MAX_TRAILER_LINES = 100


class Body:
    """Reads one body; raises EOFError when it ends early, MessageInvalid for chunks that are not valid."""

    def __init__(self, reader: asyncio.StreamReader, framing: Framing, *, strict: bool = True) -> None:
        self._reader = reader
        self._chunked = framing.chunked
        self._until_end = framing.length is None and not framing.chunked
        self._strict = strict  # without: extensions and headers after the last chunk are ignored
        self._left = framing.length or 0  # of the body, or of the current chunk
        self._is_first_chunk = True
        self._ended = False

    async def read(self) -> bytes:
        """Return the next piece; empty: the body has ended."""
        if self._until_end:
            return await self._reader.read(PIECE)
        if self._chunked and not self._left and not self._ended:
            await self._start_chunk()
        if not self._left:
            return b""
        piece = await self._reader.read(min(self._left, PIECE))
        if not piece:
            raise asyncio.IncompleteReadError(b"", self._left)
        self._left -= len(piece)
        return piece

    async def _start_chunk(self) -> None:
        if not self._is_first_chunk and await self._reader.readexactly(2) != b"\r\n":
            raise MessageInvalid("a chunk is longer than its size")
        self._is_first_chunk = False
        self._left = await self._read_chunk_size()
        if not self._left:
            await self._read_trailers()
            self._ended = True

    async def _read_chunk_size(self) -> int:
        size, semicolon, _ = (await read_line(self._reader)).partition(b";")
        size = size if self._strict else size.strip()
        if not _CHUNK_SIZE.match(size) or (self._strict and semicolon):
            raise MessageInvalid("the size of a chunk is not valid")
        return int(size, 16)

    async def _read_trailers(self) -> None:
        for _ in range(_MAX_TRAILER_LINES):
            if not await read_line(self._reader):
                return
            if self._strict:
                break
        raise MessageInvalid("its chunks end with headers")


async def read_line(reader: asyncio.StreamReader) -> bytes:
    """Return a line without its CR LF; raise MessageInvalid for another line end."""
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise MessageInvalid("a line is too long") from None
    if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
        raise MessageInvalid("it has a line end that is not CR LF")
    return line[:-2]
