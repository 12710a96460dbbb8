"""Receives the listening sockets that the first program of a sandbox sends."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

_MAX_LINE = 16
_MAX_DESCRIPTORS = 16
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # no program that is started meanwhile gets them


async def receive_listeners(connection: socket.socket) -> AsyncIterator[tuple[int, socket.socket]]:
    """Yield each listener with its port until the end of file."""
    connection.setblocking(False)
    text, descriptors = b"", deque[int]()
    try:
        while True:
            await _wait_readable(connection)
            with suppress(BlockingIOError):
                data, received, _, _ = socket.recv_fds(connection, 1024, _MAX_DESCRIPTORS, _FLAGS)
                descriptors.extend(received)
                text += data
                if not data:
                    return
                while b"\n" in text and descriptors:
                    line, _, text = text.partition(b"\n")
                    if (listener := _open(line, descriptors.popleft())) is not None:
                        yield int(line), listener
                if len(text) > _MAX_LINE:
                    return
    except ConnectionError:
        return  # the program was killed
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _open(line: bytes, descriptor: int) -> socket.socket | None:
    """Return the listener; None for a message that is not a port and a listening TCP socket."""
    found = socket.socket(fileno=descriptor)
    is_internet = found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
    if line.isdigit() and is_internet and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        found.setblocking(False)
        found.set_inheritable(False)
        return found
    found.close()
    return None


async def _wait_readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
