"""One host of a cluster: a machine with its own home directory and clone, and the worker that runs on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from cluster.agent import write_agent
from cluster.namespaces import GATEWAY, HostNamespace

_PROGRAM = (sys.executable, "-m", "ostler")


class Host:
    """A host; `number` 0 is the desk of the person who creates tasks and runs no worker."""

    def __init__(self, number: int, lab: Path, environ: Mapping[str, str]) -> None:
        self.name = f"host{number}" if number else "desk"
        self.own = lab / "hosts" / self.name
        self.project = self.own / "project"
        self.machine = HostNamespace(number, self.name, self.own, (lab / "hosts", lab / "servers"))
        self._log = lab / "agents.jsonl"
        self._environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.own),
            "OSTLER_CLAUDE_PATH": str(self.own / "agents" / "claude"),
            **environ,
            "NO_PROXY": GATEWAY,
            "TMPDIR": str(self.own / "tmp"),
        }
        self._worker: subprocess.Popen[bytes] | None = None

    def start(self, address: str, repository: str, behaviour: dict[str, object]) -> None:
        """Install the agent, switch the machine on and clone the project."""
        (self.own / "tmp").mkdir(parents=True)
        write_agent(self.own / "agents", self._log, self.name, behaviour)
        user = "[user]\n\tname = Ada\n\temail = ada@example.org\n"
        (self.own / ".gitconfig").write_text(f'{user}[url "{address}"]\n\tinsteadOf = {repository}\n')
        self.machine.start()
        self.run("git", "clone", "-q", repository, str(self.project), place=self.own)

    def run(
        self, *command: str, place: Path | None = None, code: int | None = 0, seconds: float = 120
    ) -> str:
        """Run a command on this host to its end; return its output."""
        done = subprocess.run(
            self.machine.enter(command, place or self.project),
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        printed = f"{self.name}: {' '.join(command)} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, printed
        return done.stdout

    def ostler(self, *args: str, code: int = 0) -> str:
        return self.run(*_PROGRAM, *args, code=code)

    def json(self, *args: str) -> Any:
        return json.loads(self.ostler(*args, "--json"))

    def spawn(self, args: Sequence[str], output: Path, **environ: str) -> subprocess.Popen[bytes]:
        """Start `ostler` on this host and return."""
        with output.open("ab") as file:
            return subprocess.Popen(
                self.machine.enter([*_PROGRAM, *args], self.project),
                env=self._environ | environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def start_worker(self, *args: str, **environ: str) -> None:
        assert not self.is_working, f"{self.name} has a worker"
        self._worker = self.spawn(["worker", *args], self.output, **environ)

    @property
    def output(self) -> Path:
        return self.own / "worker.log"

    @property
    def is_working(self) -> bool:
        return self._worker is not None and self._worker.poll() is None

    def worker_process(self) -> psutil.Process:
        """Return the process of the worker itself, below the program that entered the namespaces."""
        assert self._worker is not None
        return psutil.Process(self._worker.pid).children()[0]

    def signal_worker(self, number: int) -> None:
        self.worker_process().send_signal(number)
        if number == signal.SIGCONT:
            self._continue_entry()

    def thaw(self) -> None:
        """Let everything on the host go on after machine.freeze."""
        self.machine.thaw()
        self._continue_entry()

    def _continue_entry(self) -> None:
        # The program that entered the namespaces stops itself when its child is stopped.
        if self._worker is not None and self._worker.poll() is None:
            self._worker.send_signal(signal.SIGCONT)

    def kill_worker(self) -> None:
        """kill -9 of the worker alone."""
        if self.is_working:
            with suppress(IndexError, psutil.NoSuchProcess):
                self.signal_worker(signal.SIGKILL)
            self.wait_for_end()

    def drain(self, seconds: float = 60.0) -> int:
        """End the worker as an upgrade does; return its exit code."""
        if not self.is_working:
            return 0
        self.signal_worker(signal.SIGTERM)
        return self.wait_for_end(seconds)

    def wait_for_end(self, seconds: float = 60.0) -> int:
        assert self._worker is not None
        return self._worker.wait(seconds)

    def processes(self) -> list[str]:
        """Return what runs on this host, as text."""
        found = []
        for process in self.machine.processes():
            with suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())[:150]}")
        return found

    def traceback(self) -> str:
        """Return the last traceback in the output of the worker."""
        text = self.output.read_text(errors="replace") if self.output.exists() else ""
        _, found, rest = text.rpartition("Traceback (most recent call last)")
        return found and found + rest[:2000]
