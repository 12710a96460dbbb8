"""One client's connection: sends whole and broken bodies, and never waits longer than the server runs."""

from __future__ import annotations

import json
import socket
import struct
import zlib
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from ostler.testing.llm.turns import Answer, Flood
from ostler.testing.loopback import LoopbackServer

_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_PIECE = b" " * (1 << 20)


class Connection(BaseHTTPRequestHandler):
    """Writes whole and broken bodies; the subclass handles the requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # seconds until an idle connection is closed
    server: LoopbackServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def send_json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.send_body(status, json.dumps(body).encode(), _JSON, headers)

    def send_body(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self._begin(status, {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_parts(self, parts: list[bytes], headers: dict[str, str], *, events: bool) -> None:
        """Send a whole body in chunks."""
        self._begin_chunks(events, headers)
        for part in parts:
            self._chunk(part)
        self._end_chunks()

    def send_broken(
        self,
        parts: list[bytes],
        answer: Answer,
        error: bytes,
        ping: bytes,
        headers: dict[str, str],
        *,
        events: bool,
    ) -> None:
        """Send the first half of a body, then break as the answer demands."""
        self._begin_chunks(events, headers)
        for part in parts[: max(1, len(parts) // 2)]:
            self._chunk(part)
        match answer.breaks:
            case "error_event":
                self._chunk(error)
                self._end_chunks()
            case "end":
                self._end_chunks()
            case "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            case "truncated":
                self.wfile.write(b"1000\r\n" + parts[-1][:10])
            case "endless":
                self._trickle(b":", answer)
            case "pings" | "":
                self._trickle(ping if events else b" ", answer)
        self.close_connection = True

    def send_flood(self, flood: Flood) -> None:
        """Send as many bytes as requested, or until the client disconnects."""
        headers = {"Content-Type": _JSON, "Transfer-Encoding": "chunked"}
        self._begin(200, headers | ({"Content-Encoding": "gzip"} if flood.compressed else {}))
        spaces = _spaces(flood.flood_bytes)
        for part in _compress(spaces) if flood.compressed else spaces:
            self._chunk(part)
            if self.server.closing.is_set():
                break
        self._end_chunks()

    def wait(self, seconds: float) -> bool:
        """Wait, and return whether the server is still running."""
        return not self.server.closing.wait(max(0.0, seconds))

    def drop(self) -> None:
        """Close the connection without an answer."""
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the requests are recorded."""

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _begin_chunks(self, events: bool, headers: dict[str, str]) -> None:
        kind = _EVENTS if events else _JSON
        self._begin(200, {"Content-Type": kind, "Transfer-Encoding": "chunked", **headers})

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _end_chunks(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _trickle(self, sign: bytes, answer: Answer) -> None:
        for _ in range(int(answer.lasts_seconds / max(0.001, answer.every_seconds))):
            if not self.wait(answer.every_seconds):
                return
            self._chunk(sign)


def _spaces(size: int) -> Iterator[bytes]:
    """Yield a JSON object that consists of white space."""
    yield b"{"
    for _ in range(size // len(_PIECE)):
        yield _PIECE
    yield b"}"


def _compress(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    for part in parts:
        yield packer.compress(part)
    yield packer.flush()
