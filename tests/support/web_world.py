"""A real `ostler serve` for tests, and a client that sends exactly the given request."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from world import INTERRUPT, World, end, wait_until

JSON = {"Content-Type": "application/json"}


class Answer:
    """An answer with its body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to one server; with a token it has the key."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send one request with just these headers, where an underscore is a dash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, self._with_key(named))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, status: int = 200) -> Any:
        """Return a document of the API."""
        answer = self.ask("GET", f"/api/v1{path}")
        assert answer.status == status, (path, answer.status, answer.body[:2000])
        return answer.json

    def post(self, path: str, printed: object = None, status: int = 200) -> Any:
        answer = self.ask("POST", f"/api/v1{path}", json.dumps(printed or {}).encode(), **JSON)
        assert answer.status == status, (path, answer.status, answer.body[:2000])
        return answer.json

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[Stream]:
        """Server-sent events; nothing is read from the socket before it is requested."""
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(30)
        plain.connect(("127.0.0.1", self.port))
        named = {"Host": f"127.0.0.1:{self.port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        lines = [f"GET /api/v1{path} HTTP/1.1", *(f"{k}: {v}" for k, v in self._with_key(named).items())]
        plain.sendall("\r\n".join([*lines, "", ""]).encode())
        with plain:
            yield Stream(plain)

    def _with_key(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **headers} if self.token else headers


class Stream:
    """An open stream of events."""

    def __init__(self, plain: socket.socket) -> None:
        self._file = plain.makefile("rb")

    def head(self) -> list[bytes]:
        return list(iter(lambda: self._file.readline().strip(), b""))

    def events(self, count: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the next ones, with their ids."""
        found: list[tuple[int, dict[str, Any]]] = []
        last = 0
        while len(found) < count:
            line = self._file.readline()
            assert line, f"the stream ended after {len(found)} of {count}"
            if line.startswith(b"id: "):
                last = int(line[4:])
            elif line.startswith(b"data: "):
                found.append((last, json.loads(line[6:])))
        return found

    def rest(self) -> bytes:
        """Return everything up to the end of the stream."""
        return self._file.read()


class Served(Client):
    """A server of a world's project, with its key."""

    def __init__(self, world: World, child: subprocess.Popen[bytes]) -> None:
        note = json.loads(note_of(world).read_bytes())
        super().__init__(note["port"], note["token"])
        self.child = child

    def stop(self) -> int:
        return end(self.child, INTERRUPT)


@contextmanager
def shared_world(directory: Path) -> Iterator[World]:
    """A project for all tests of a file, with its own home directory as every test has."""
    home = directory / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        world = World(directory)
        world.ostler("init")
    try:
        yield world
    finally:
        world.close()


def note_of(world: World) -> Path:
    return world.root / ".ostler" / "server.json"


def serve(world: World, *args: str) -> Served:
    """Start `ostler serve` on a free port, and wait until it answers."""
    note_of(world).unlink(missing_ok=True)
    child = world.start("serve", "--port", "0", "--json", *args)
    wait_until(lambda: note_of(world).exists() or child.poll() is not None, 60, "no server came up")
    assert child.poll() is None, (world.root.parent / "err.txt").read_text()
    return Served(world, child)


def printed_address(world: World) -> str:
    """Return the one-time address that the server printed first."""
    out = world.root.parent / "out.txt"
    wait_until(lambda: b"\n" in out.read_bytes(), 60, "nothing was printed")
    url = json.loads(out.read_bytes().splitlines()[0])["url"]
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"
