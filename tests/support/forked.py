"""Runs a command in a separate process without the time to import it: a server forks one for each command.

The process can be killed at a failpoint, and its children are left as those of any other program. Only what
Python reads at its start is that of the server. It must be used by one thread.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_SECONDS = 100.0
_LARGEST = 1 << 20


def run_forked(
    args: list[str],
    cwd: Path,
    environ: Mapping[str, str],
    stdin: str = "",
    beside: AbstractContextManager[object] | None = None,  # entered while the command runs
) -> subprocess.CompletedProcess[str]:
    """Run `ostler ARGS` and return its exit code and output, as subprocess.run does."""
    with ExitStack() as opened:
        given, out, err = files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        given.write(stdin.encode())
        given.seek(0)
        started = start_forked(args, cwd, environ, files)
        with beside or nullcontext():
            status = started.wait()
        return subprocess.CompletedProcess(["ostler", *args], status, _read(out), _read(err))


class ForkedProcess:
    """A command that runs; its server starts no other one before it has ended."""

    def __init__(self, args: list[str], server: socket.socket) -> None:
        self.args = args
        self._server = server
        self.pid = int(server.recv(64))

    def wait(self, seconds: float = _SECONDS) -> int:
        """Return the exit code; end the process and raise TimeoutExpired when it takes longer."""
        self._server.settimeout(seconds)
        try:
            return int(self._server.recv(64))
        except BaseException as error:  # also the time limit of the test; the server is needed by the next
            os.kill(self.pid, signal.SIGKILL)
            self._server.settimeout(_SECONDS)
            self._server.recv(64)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(self.args, seconds) from None
            raise


def start_forked(
    args: list[str], cwd: Path, environ: Mapping[str, str], files: Sequence[IO[bytes]], server: str = ""
) -> ForkedProcess:
    """Start `ostler ARGS` with these standard streams; servers of different names run one command each."""
    loaded = [name for name in sys.modules if name.startswith("ostler.") and ".testing" not in name]
    request = {"args": args, "cwd": str(cwd), "environ": dict(environ), "modules": loaded}
    client = _server(server)
    client.settimeout(_SECONDS)
    socket.send_fds(client, [json.dumps(request).encode()], [file.fileno() for file in files])
    return ForkedProcess(args, client)


@cache
def _server(name: str) -> socket.socket:
    """A server of this process; it ends when this process does."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno()), name]
        subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd="/")
    return ours


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


def serve(client: socket.socket) -> None:
    """Fork a process for each request and answer with its exit code, until the client is gone."""
    import_module("ostler.__main__")
    while True:
        data, descriptors, _, _ = socket.recv_fds(client, _LARGEST, 3)
        if not data:
            return
        request = json.loads(data)
        for name in request["modules"]:
            import_module(name)
        child = os.fork()
        if child == 0:
            client.close()
            become_program(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        client.send(b"%d" % child)
        client.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def become_program(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take over what the request gives, and run the command; does not return."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.argv = ["ostler", *request["args"]]
    import_module("ostler.files.failpoint").arm(os.environ.get("OSTLER_FAILPOINT", ""))
    import_module("ostler.__main__").main()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
