"""An HTTP server, on 127.0.0.1 by default, that closes all its connections when it is closed."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MakeHandler = Callable[[Any, Any, Any], BaseHTTPRequestHandler]


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, handler: MakeHandler, port: int, host: str) -> None:
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__((host, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            _hang_up(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnects of clients; print errors of scripts."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Loopback:
    """Serves from start() to close()."""

    def __init__(self, handler: MakeHandler, port: int = 0, host: str = "127.0.0.1") -> None:
        self._server = LoopbackServer(handler, port, host)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        """Close every connection and stop listening."""
        self._server.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(10)
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already closed
