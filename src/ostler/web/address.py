"""The file with the address of a server, by which a second `ostler serve` finds the first."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.config.settings import LOOPBACK_HOSTS
from ostler.errors import UsageError
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout
from ostler.files.user_state import find_user_state

FILE_NAME = "server.json"
PROJECT_PREFIX = "/p/"  # of the paths of a project in a server of several
_SECONDS = 3.0
_BACKLOG = 256
_SEND_BUFFER = 64 * 1024


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
    listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # Each connection inherits it; the default is megabytes for every client that does not read.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # Also inherited. asyncio sets it only for sockets with an explicit protocol number; without it a body
    # that follows its header waits up to 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_file(layout: Layout) -> Path:
    """Return the file of a project's server."""
    return layout.view / FILE_NAME


def find_user_address_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file of the server of all projects of the user; None without a home directory."""
    state = find_user_state(environ)
    return state / FILE_NAME if state else None


def write_address(file: Path, listening: ServerAddress) -> None:
    """Write the address to a file that only the user can read."""
    write_atomic(file, msgspec.json.encode(listening))


def remove_address(file: Path, listening: ServerAddress) -> None:
    """Remove the file, unless another server has replaced it."""
    if _read(file) == listening:
        with suppress(OSError):
            file.unlink()


def request_one_time_url(file: Path, port: int | None, runs_tasks: bool, project: str = "") -> str | None:
    """Return a new one-time URL of the running server of a file; None when no suitable one runs.

    `project` is the name of one in a server of several, whose page the URL opens.
    """
    server = _read(file)
    if server is None or port not in (None, server.port) or (runs_tasks and not server.runs_tasks):
        return None
    connection = http.client.HTTPConnection(server.host, server.port, timeout=_SECONDS)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    prefix = f"{PROJECT_PREFIX}{project}" if project else ""
    try:
        connection.request("POST", f"{prefix}/api/v1/keys", b"{}", headers)
        url = str(msgspec.json.decode(connection.getresponse().read())["url"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
    ours = url.startswith(f"{server.url}/open?key=")  # after a crash another program may use the port
    return url if ours and url.isprintable() else None


def _read(file: Path) -> ServerAddress | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ServerAddress)
    except (OSError, msgspec.DecodeError):
        return None
