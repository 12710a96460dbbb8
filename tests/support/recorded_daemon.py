"""A socket that implements enough of the Docker API to record what the real client asks for."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class RecordedDaemon:
    """Records the request that creates a container, and refuses it."""

    def __init__(self, path: Path) -> None:
        self.created: list[tuple[str, dict[str, Any]]] = []  # path with query, body
        created = self.created

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(200, b"OK")

            def do_HEAD(self) -> None:
                self._answer(200, b"")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                created.append((self.path, json.loads(body)))
                self._answer(500, b'{"message": "recorded"}')

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                for name, value in {"Api-Version": "1.50", "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def address_string(self) -> str:
                return "client"

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = _Server(str(path), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
