"""Messages on a stream socket: four bytes of length, then words, each ended by a NUL.

No argument, variable or path can hold a NUL, so any bytes that exec takes pass unchanged. (JSON would double
the memory and the start of the small program.)
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

_LENGTH = 4


def encode(*words: str | int | float) -> bytes:
    """One message, ready to be sent."""
    body = b"".join([os.fsencode(str(word)) + b"\0" for word in words])
    return len(body).to_bytes(_LENGTH, "big") + body


def receive(peer: socket.socket, most_bytes: int, most_descriptors: int) -> tuple[bytes, list[int]]:
    """What has come, and its descriptors. No program started later inherits these."""
    data, descriptors, _, _ = socket.recv_fds(peer, most_bytes, most_descriptors)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # recv_fds leaves out the flags that it is given
    return data, descriptors


class Frames:
    """Cuts what arrived into whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[list[bytes]]:
        """The words of each message that is complete now."""
        self._buffer += data
        while (body := self._cut()) is not None:
            yield body.split(b"\0")[:-1]

    def _cut(self) -> bytes | None:
        end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH], "big")
        if len(self._buffer) < max(end, _LENGTH):
            return None
        body = bytes(self._buffer[_LENGTH:end])
        del self._buffer[:end]
        return body
