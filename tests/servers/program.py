"""A server program on a free port: a bounded start, faults, and an end that leaves no process.

Start it on the main thread: the kernel kills the server when the thread that started it has ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

START_SECONDS = 60.0
STOP_SECONDS = 10.0
_LOG_LINES = 40


class ServerFailed(RuntimeError):
    """A server did not start; the message ends with the last lines of its log."""


class ServerProgram:
    """One server program and its log; it can be killed, frozen and started again on the same address."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        is_ready: Callable[[], bool],
        *,
        env: Mapping[str, str] | None = None,
        stop_signal: int = signal.SIGTERM,
    ) -> None:
        self.command = [str(word) for word in command]
        self.log = log
        self._is_ready = is_ready
        self._env = dict(env) if env is not None else None
        self._stop_signal = stop_signal
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = START_SECONDS) -> Self:
        """Start the program and wait until it is ready; raises ServerFailed."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_die_with_parent(), *self.command],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + seconds
        while not self._is_ready():
            if self._process.poll() is not None:
                raise self._failure(f"ended with {self._process.returncode}")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"was not ready after {seconds:.0f} s")
            time.sleep(0.02)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it as an administrator does; kill it when that takes too long."""
        if self._process is None or self._process.poll() is not None:
            return
        self.thaw()
        self._process.send_signal(self._stop_signal)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it and all its processes as a crash of its machine does."""
        if self._process is None:
            return
        # A stopped program starts no process that the next line does not see.
        with suppress(psutil.NoSuchProcess):
            psutil.Process(self.pid).suspend()
        self._signal_all(signal.SIGKILL)
        self._process.wait(STOP_SECONDS)

    def freeze(self) -> None:
        """Stop all its processes: connections stay open, and nothing is answered."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.pid)
            for process in (first, *first.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def _failure(self, why: str) -> ServerFailed:
        lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return ServerFailed("\n".join((f"{self.command[0]} {why}; {self.log}:", *lines)))


def find_free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return ports that nothing listens on; all are reserved at once, so that no two are the same."""
    held = [socket.create_server((host, 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def accepts_connections(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _die_with_parent() -> Sequence[str]:
    """Return the prefix that ends a server with the process that started it, also after kill -9."""
    program = shutil.which("setpriv")
    return (program, "--pdeathsig", "KILL", "--") if program and os.uname().sysname == "Linux" else ()
