"""A package index on loopback, which is also an HTTP proxy; and a project whose tools use it."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from ostler.sandbox.network.indexes.find import find_indexes
from ostler.sandbox.network.indexes.found import Indexes


class Page(NamedTuple):
    body: str = ""
    type: str = "text/html"
    location: str = ""
    hangs: bool = False
    endless: bool = False
    drips: bool = False  # one byte of a header at a time


class IndexServer:
    """Answers a path, or an absolute URL of any host that a proxy receives, with `pages`; else 404."""

    def __init__(self, pages: dict[str, Page] | None = None) -> None:
        self.pages = pages or {}
        self.asked: list[str] = []
        self.logins: dict[str, str] = {}
        self.sent = 0
        self._ended = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def proxy(self) -> dict[str, str]:
        """The variables that send every request here."""
        return {
            "http_proxy": self.url,
            "HTTPS_PROXY": self.url.replace("://", "://me:pw@"),
            "NO_PROXY": "own.test",
        }

    def __enter__(self) -> IndexServer:
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(f"{self.command} {self.path}")
                if login := self.headers.get("Authorization"):
                    owner.logins[self.path] = login
                page = owner.pages.get(self.path)
                if page is not None and page.hangs:
                    owner._ended.wait(20)
                    return
                if page is not None and page.drips:
                    self._drip()
                    return
                with suppress(ConnectionError):
                    self._answer(page)

            do_HEAD = do_GET

            def do_CONNECT(self) -> None:
                owner.asked.append(f"CONNECT {self.path}")
                owner.logins[self.path] = self.headers.get("Proxy-Authorization", "")
                self.send_error(502)

            def _drip(self) -> None:
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
                with suppress(ConnectionError):
                    for _ in range(150):
                        if owner._ended.wait(0.1):
                            return
                        self.wfile.write(b"x")

            def _answer(self, page: Page | None) -> None:
                self.send_response(404 if page is None else 302 if page.location else 200)
                if page is not None and page.location:
                    self.send_header("Location", page.location)
                self.send_header("Content-Type", page.type if page else "text/plain")
                self.end_headers()
                while page is not None and self.command == "GET":
                    owner.sent += self.wfile.write((page.body * (1000 if page.endless else 1)).encode())
                    if not page.endless:
                        return

            def log_message(self, *_: object) -> None:
                """Print nothing: the test reads `asked`."""

        return Handler


def simple_page(*links: str) -> Page:
    return Page("".join(f'<a href="{link}#sha256=0">file</a>\n' for link in links))


def json_page(value: object, type: str = "application/json") -> Page:
    return Page(json.dumps(value), type)


def write_program(directory: Path, name: str, text: str) -> None:
    """Write a shell program."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)


class Project:
    """A home, a checkout and programs; every request to an index comes to a server of the test."""

    def __init__(self, root: Path, server: IndexServer) -> None:
        self.home, self.checkout, self.programs = root / "home", root / "checkout", root / "programs"
        for place in (self.home, self.checkout, self.programs):
            place.mkdir()
        self.server = server
        self.environ = {"HOME": str(self.home), "PATH": str(self.programs)} | server.proxy
        self.now = 0.0

    def write(self, name: str, text: str) -> None:
        (self.home.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (self.home.parent / name).write_text(text)

    def program(self, name: str, text: str) -> None:
        write_program(self.programs, name, text)

    def use(self, *programs: str) -> None:
        """Use the real programs of these names."""
        for name in programs:
            (self.programs / name).unlink(missing_ok=True)
            (self.programs / name).symlink_to(str(shutil.which(name)))

    def find(self, seconds: float = 20.0, **environ: str) -> Indexes:
        return find_indexes(
            self.environ | environ,
            self.checkout,
            tool_seconds=seconds,
            learn_seconds=10.0,
            monotonic=lambda: self.now,
        )
