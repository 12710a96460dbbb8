"""A web server in this process, of a new project that runs no tasks."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostler.project.project import Project
from ostler.web.address import listen
from ostler.web.server import WebServer
from web_world import Client


@contextmanager
def serve_in_process(root: Path) -> Iterator[tuple[WebServer, Client]]:
    """Serve a project in this directory; the client has the token of scripts."""
    root.mkdir(exist_ok=True)
    with Project.open(root, os.environ, create=True) as project:
        listener = listen("127.0.0.1", 0)
        server = WebServer(project, listener, os.environ, runs_tasks=False)
        try:
            yield server, Client(listener.getsockname()[1], server.site.keys.token)
        finally:
            server.close()


def connect(port: int, sent: bytes = b"") -> socket.socket:
    """Open a connection that reads little, and send this."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(30)
    plain.connect(("127.0.0.1", port))
    plain.sendall(sent)
    return plain


def is_closed(plain: socket.socket) -> bool:
    """Return whether the server closed a connection; what it sent before is dropped."""
    plain.setblocking(False)
    try:
        while plain.recv(65536):
            continue
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True
