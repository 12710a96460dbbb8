"""A container engine for tests: a client program that behaves like docker, and a daemon that uses bubblewrap.

As with a real engine, the containers are children of the daemon: killing the client ends no process of them.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

CLIENT = """#!{python} -S
import json, os, signal, socket, sys
control = socket.socket(socket.AF_UNIX)
control.connect({socket!r})
text = json.dumps([sys.argv[1:], dict(os.environ)]).encode() + b"\\n"
socket.send_fds(control, [text], [0, 1, 2])
def forward(number, frame):
    control.sendall(b"%d\\n" % number)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, forward)
answer = b""
while not answer.endswith(b"\\n"):
    answer += control.recv(100) or b"125\\n"
sys.exit(int(answer))
"""
FLAGS = ("--rm", "--interactive", "--tty", "--read-only")
VALUES = (
    "--pull", "--name", "--label", "--log-driver", "--network", "--cap-drop", "--security-opt", "--userns",
    "--user", "--pids-limit", "--ulimit", "--memory", "--memory-swap", "--tmpfs", "--shm-size", "--mount",
    "--workdir", "--entrypoint",
)  # fmt: skip
IMAGE = "image"


class FakeEngine:
    """Serves clients until it is closed; `calls` has the arguments and variables of each."""

    def __init__(self, directory: Path, name: str = "docker") -> None:
        self.calls: list[tuple[list[str], dict[str, str]]] = []
        self.containers: dict[str, int] = {}  # name: the first process, as a pid of this machine
        self.program = directory / name
        self.memory_events = directory / "memory.events"
        self.memory_events.write_text("oom 0\noom_kill 0\n")
        self._server = socket.socket(socket.AF_UNIX)
        path = directory / "daemon"
        self._server.bind(str(path))
        self._server.listen()
        self.program.write_text(CLIENT.format(python=sys.executable, socket=str(path)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for pid in self.containers.values():
            _kill(pid)

    def find(self, word: str) -> list[list[str]]:
        """Return the arguments of the calls of one command of the client."""
        return [argv for argv, _ in self.calls if argv[0] == word]

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            text, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
            while not text.endswith(b"\n"):
                text += connection.recv(1 << 20)
            argv, env = json.loads(text)
            self.calls.append((argv, env))
            match argv:
                case ["run", *rest]:
                    status = self._run(rest, streams, connection)
                case ["rm", "--force", name]:
                    _kill(self.containers.pop(name, 0))
                    status = 0
                case ["ps", *_]:
                    os.write(streams[1], "".join(f"{one}\n" for one in self.containers).encode())
                    status = 0
                case _:
                    status = 125
            for one in streams:
                os.close(one)
            with suppress(OSError):
                connection.sendall(b"%d\n" % status)

    def _run(self, arguments: list[str], streams: list[int], connection: socket.socket) -> int:
        options, rest = parse(arguments)
        if rest[0] != IMAGE:
            os.write(streams[2], b"docker: Error response from daemon: No such image\n")
            return 125
        reader, writer = os.pipe()
        wrapped = self._wrap(options, rest[1:], writer)
        process = subprocess.Popen(
            wrapped, stdin=streams[0], stdout=streams[1], stderr=streams[2], pass_fds=(writer,), env={}
        )
        os.close(writer)
        with os.fdopen(reader) as info:
            (name,) = options["--name"]
            self.containers[name] = json.loads(info.read() or '{"child-pid": 0}')["child-pid"]
        threading.Thread(target=self._forward, args=(connection, name), daemon=True).start()
        status = process.wait()
        self.containers.pop(name, None)
        return status if status >= 0 else 128 - status

    def _forward(self, connection: socket.socket, name: str) -> None:
        with suppress(OSError):
            while data := connection.recv(100):
                for number in data.split():
                    if (pid := self.containers.get(name, 0)) > 1:
                        os.kill(pid, int(number))

    def _wrap(self, options: dict[str, list[str]], arguments: list[str], info: int) -> list[str]:
        network = ["--share-net"] if options["--network"] == ["host"] else []
        return [
            "bwrap", "--unshare-all", *network, "--as-pid-1", "--cap-drop", "ALL", "--info-fd", str(info),
            "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
            "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys",
            "--dev", "/dev", "--tmpfs", "/tmp",
            "--ro-bind", str(self.memory_events), "/sys/fs/cgroup/memory.events",
            *(one for value in options["--mount"] for one in bind(value)), "--remount-ro", "/",
            "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "OF_IMAGE", "1",
            "--chdir", options["--workdir"][0], "--", *options["--entrypoint"], *arguments,
        ]  # fmt: skip


def _kill(pid: int) -> None:
    if pid > 1:  # 0: a container without a process
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def parse(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the options of `run` and the rest; an option that the engine does not have is an error."""
    found: dict[str, list[str]] = {"--network": [], "--mount": []}
    position = 0
    while arguments[position].startswith("-"):
        name = arguments[position]
        if name in FLAGS:
            found[name] = []
            position += 1
            continue
        assert name in VALUES, name
        found.setdefault(name, []).append(arguments[position + 1])
        position += 2
    return found, arguments[position:]


def bind(value: str) -> list[str]:
    fields: dict[str, Any] = dict(one.partition("=")[::2] for one in value.split(","))
    assert fields["type"] == "bind"
    return ["--ro-bind" if "readonly" in fields else "--bind", fields["source"], fields["target"]]
