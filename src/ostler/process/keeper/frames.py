"""Messages on a stream socket: four bytes of length, then fields that each end with a NUL byte.

Arguments, variables and paths cannot contain NUL, so all bytes that exec accepts pass unchanged. JSON would
double the memory and the start time of the forker.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

_LENGTH = 4


def encode(*fields: str | int | float) -> bytes:
    """Return a message with these fields."""
    body = b"".join([os.fsencode(str(field)) + b"\0" for field in fields])
    return len(body).to_bytes(_LENGTH, "big") + body


def receive(peer: socket.socket, max_bytes: int, max_descriptors: int) -> tuple[bytes, list[int]]:
    """Return the received bytes and descriptors; child processes do not inherit the descriptors."""
    data, descriptors, _, _ = socket.recv_fds(peer, max_bytes, max_descriptors)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # recv_fds ignores its flags argument
    return data, descriptors


class FrameDecoder:
    """Splits received bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[list[bytes]]:
        """Yield the fields of each complete message."""
        self._buffer += data
        while (body := self._take_body()) is not None:
            yield body.split(b"\0")[:-1]

    def _take_body(self) -> bytes | None:
        end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH], "big")
        if len(self._buffer) < max(end, _LENGTH):
            return None
        body = bytes(self._buffer[_LENGTH:end])
        del self._buffer[:end]
        return body
