"""Where a project's server listens, and how a second `ostler serve` finds the first."""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SECONDS = 3.0


class Listening(Struct, frozen=True):
    """The server of a project, for programs of the same person."""

    pid: int
    host: str
    port: int
    token: str
    carries: bool  # false: it only looks on

    @property
    def address(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def listen(host: str, port: int) -> socket.socket:
    """Take the port; OSError when someone has it. Only this machine is let in."""
    if host not in LOOPBACK:
        raise UsageError(
            f"server.host = {host!r} would let other machines in",
            f"use {', '.join(LOOPBACK)}; a tunnel leads there",
        )
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=128)


def note(layout: Layout, listening: Listening) -> None:
    """Write down where we are, for our person's eyes only."""
    write_atomic(_path(layout), msgspec.json.encode(listening))


def forget(layout: Layout, listening: Listening) -> None:
    """Take the note away, unless it is another's by now."""
    if _read(layout) == listening:
        with suppress(OSError):
            _path(layout).unlink()


def ask_for_address(layout: Layout, port: int | None, carries: bool) -> str | None:
    """A fresh one-time address of the project's own server, if one runs that will do."""
    known = _read(layout)
    if known is None or port not in (None, known.port) or (carries and not known.carries):
        return None
    connection = http.client.HTTPConnection(known.host, known.port, timeout=_SECONDS)
    headers = {"Authorization": f"Bearer {known.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/keys", b"{}", headers)
        url = str(msgspec.json.decode(connection.getresponse().read())["url"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
    ours = url.startswith(f"{known.address}/open?key=")  # after a crash another program may have the port
    return url if ours and url.isprintable() else None


def _path(layout: Layout) -> Path:
    return layout.state / "server.json"


def _read(layout: Layout) -> Listening | None:
    try:
        return msgspec.json.decode(_path(layout).read_bytes(), type=Listening)
    except (OSError, msgspec.DecodeError):
        return None
