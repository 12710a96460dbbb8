"""Messages on a stream socket: four bytes of length, then JSON; and the descriptors that come with them."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping

_LENGTH = 4


def encode(message: Mapping[str, object]) -> bytes:
    """One message, ready to be sent; lone surrogates (odd file names) survive as escapes."""
    body = json.dumps(message).encode("ascii")
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

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are complete now."""
        self._buffer += data
        while (body := self._cut()) is not None:
            yield body

    def _cut(self) -> bytes | None:
        end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH], "big")
        if len(self._buffer) < max(end, _LENGTH):
            return None
        body = bytes(self._buffer[_LENGTH:end])
        del self._buffer[:end]
        return body
