"""A local web server that answers with the pages of a test and records the requests."""

from __future__ import annotations

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Loopback:
    """Answers every path with `pages[path]` as HTML, or 404; `asked` has each request line."""

    def __init__(self, pages: dict[str, str], headers: dict[str, str] | None = None) -> None:
        self.pages = pages
        self.headers = headers or {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Loopback:
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(f"{self.command} {self.path}")
                page = owner.pages.get(self.path.partition("?")[0])
                self.send_response(404 if page is None else 200)
                for name, value in owner.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                with suppress(ConnectionError):  # a closed page gets no answer
                    self.wfile.write((page or "").encode())

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Print nothing: the test reads `asked`."""

        return Handler
