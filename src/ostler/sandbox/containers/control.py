"""The connection to the supervisor of a container, which ends the container when this process closes it."""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

from ostler.sandbox.box.attach import Attach

_MAX_DESCRIPTORS = 16
_END_SECONDS = 10.0  # for the supervisor to kill all processes
NO_KILLS, ONE_KILL = "oom_kill 0\n", "oom_kill 1\n"


class Control:
    """Accepts one connection on a Unix socket, and passes the listening ports on to the proxy."""

    def __init__(self, path: Path, start_file: Path, oom_counter: Path, attach: Attach | None) -> None:
        self._path, self._start_file, self._oom_counter = path, start_file, oom_counter
        oom_counter.write_text(NO_KILLS)
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(1)
        self._proxy = _open_proxy(attach)
        self._stop, self._stopped = socket.socketpair()
        self._is_ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> bool:
        """End the container; return False if it is not known that all its processes are gone."""
        self._stop.close()
        self._thread.join(_END_SECONDS)
        return self._is_ended

    def _run(self) -> None:
        connection = self._accept()
        if connection is not None:
            with connection:
                self._read(connection)
        self._close_proxy()
        self._stopped.close()

    def _accept(self) -> socket.socket | None:
        """Return the only connection: the supervisor's, before it starts the program."""
        with self._server:
            ready, _, _ = select.select([self._server, self._stopped], [], [])
            connection = self._server.accept()[0] if self._server in ready else None
        self._path.unlink(missing_ok=True)
        return connection

    def _read(self, connection: socket.socket) -> None:
        text, sources = b"", [connection, self._stopped]
        while True:
            ready, _, _ = select.select(sources, [], [])
            if self._stopped in ready:
                sources.remove(self._stopped)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
            if connection not in ready:
                continue
            try:
                data, descriptors, _, _ = socket.recv_fds(connection, 1024, _MAX_DESCRIPTORS)
            except ConnectionError:
                data, descriptors = b"", []
            text = self._handle(text + data, descriptors)
            if not data:
                self._is_ended = True
                return

    def _handle(self, text: bytes, descriptors: list[int]) -> bytes:
        """Handle complete lines; return the rest."""
        *lines, rest = text.split(b"\n")
        for line in lines:
            if line == b"ready":
                self._start_file.unlink(missing_ok=True)  # it has the variables of the program
                self._close_proxy()
            elif line == b"oom":
                self._oom_counter.write_text(ONE_KILL)
            elif line.isdigit() and descriptors:
                self._pass_on(line, descriptors.pop(0))
        for one in descriptors:
            os.close(one)
        return rest

    def _pass_on(self, line: bytes, descriptor: int) -> None:
        try:
            if self._proxy is not None:
                socket.send_fds(self._proxy, [line + b"\n"], [descriptor])
        finally:
            os.close(descriptor)

    def _close_proxy(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None


def _open_proxy(attach: Attach | None) -> socket.socket | None:
    if attach is None:
        return None
    ours, theirs = socket.socketpair()
    attach(ours)
    return theirs
