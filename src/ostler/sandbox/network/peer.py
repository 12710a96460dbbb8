"""One side of a connection: reads heads, writes bytes at once, and is closed to its end."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from ostler.sandbox.network.body import PIECE, read_line
from ostler.sandbox.network.head import MAX_HEAD_BYTES, MessageInvalid

_FLUSH_SECONDS = 5.0
_LINGER_SECONDS = 0.5


class WatchedReader(asyncio.StreamReader):
    """A reader whose end is noticed while nothing is read."""

    def __init__(self) -> None:
        super().__init__(limit=MAX_HEAD_BYTES)
        self.ended = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.ended.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.ended.set()


class Peer:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def read_head(self, start: bytes = b"") -> bytes:
        """Return a head up to its empty line; raise MessageInvalid when it is too long."""
        head = start + await read_line(self.reader) + b"\r\n"
        while line := await read_line(self.reader):
            head += line + b"\r\n"
            if len(head) > MAX_HEAD_BYTES:
                raise MessageInvalid(f"its head is longer than {MAX_HEAD_BYTES >> 10} KiB")
        return head + b"\r\n"

    async def linger(self) -> None:
        """Close the sending side and read for a moment: unread bytes would reset the connection."""
        with suppress(OSError, RuntimeError):
            self.writer.write_eof()
            async with asyncio.timeout(_LINGER_SECONDS):
                while await self.reader.read(PIECE):
                    pass

    async def finish(self) -> None:
        """Send what is buffered within a few seconds, then close the socket."""
        self.writer.close()
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._wait_closed()
        except TimeoutError:
            pass  # the other side does not read
        finally:
            await self.abort()

    async def abort(self) -> None:
        """Close the socket now: the other side gets an incomplete message."""
        self.writer.transport.abort()
        await self._wait_closed()

    async def _wait_closed(self) -> None:
        with suppress(ConnectionError):  # the connection was broken before
            await self.writer.wait_closed()


async def accept_peer(connection: socket.socket) -> Peer:
    """Return the peer of an accepted connection; its reader is a WatchedReader."""
    loop = asyncio.get_running_loop()
    reader = WatchedReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return Peer(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
