"""The address of a project's server, and how a second `ostler serve` finds the first."""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.config.settings import LOOPBACK_HOSTS
from ostler.errors import UsageError
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout

_SECONDS = 3.0


class ServerAddress(Struct, frozen=True):
    """The server of a project, for other processes of the same user."""

    pid: int
    host: str
    port: int
    token: str
    runs_tasks: bool  # false: view only

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def listen(host: str, port: int) -> socket.socket:
    """Bind the port on the loopback interface; raise OSError when it is in use."""
    if host not in LOOPBACK_HOSTS:
        raise UsageError(
            f"server.host = {host!r} would allow connections from other machines",
            f"use one of {', '.join(LOOPBACK_HOSTS)}; for remote access use an SSH tunnel",
        )
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=128)


def write_address(layout: Layout, listening: ServerAddress) -> None:
    """Write the address to a file that only the user can read."""
    write_atomic(_path(layout), msgspec.json.encode(listening))


def remove_address(layout: Layout, listening: ServerAddress) -> None:
    """Remove the file, unless another server has replaced it."""
    if _read(layout) == listening:
        with suppress(OSError):
            _path(layout).unlink()


def request_one_time_url(layout: Layout, port: int | None, runs_tasks: bool) -> str | None:
    """Return a new one-time URL of the project's running server; None when no suitable one runs."""
    server = _read(layout)
    if server is None or port not in (None, server.port) or (runs_tasks and not server.runs_tasks):
        return None
    connection = http.client.HTTPConnection(server.host, server.port, timeout=_SECONDS)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/keys", b"{}", headers)
        url = str(msgspec.json.decode(connection.getresponse().read())["url"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
    ours = url.startswith(f"{server.url}/open?key=")  # after a crash another program may use the port
    return url if ours and url.isprintable() else None


def _path(layout: Layout) -> Path:
    return layout.view / "server.json"


def _read(layout: Layout) -> ServerAddress | None:
    try:
        return msgspec.json.decode(_path(layout).read_bytes(), type=ServerAddress)
    except (OSError, msgspec.DecodeError):
        return None
