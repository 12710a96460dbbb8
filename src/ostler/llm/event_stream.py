"""The lines of a stream of server-sent events."""

from __future__ import annotations

from collections.abc import Iterator


class EventStream:
    """Returns the data of each event; comments, names and other lines are skipped."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def __len__(self) -> int:
        """The number of bytes that are not yet a line."""
        return len(self._buffer)

    def read(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of the events that a part of the stream completes."""
        self._buffer += chunk
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            if line.startswith(b"data:"):
                yield line[5:].strip()
        self._searched = len(self._buffer)
