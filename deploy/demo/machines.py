"""The machines of the demo: directories with a home and a clone each, and the servers that they share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from servers.postgres import PostgresServer
from servers.temporal import TemporalServer

from ostler.project.demo import create_sample

HEARTBEAT_SECONDS = 5
OSTLER = Path(sys.executable).with_name("ostler")
_START_SECONDS = 30.0
_STOP_SECONDS = 30.0
_GATE = "python3 -m unittest -q"


class Machine:
    """A home directory and a clone; one machine of the demo has no worker and is that of the user."""

    def __init__(self, name: str, place: Path, environ: Mapping[str, str]) -> None:
        self.name = name
        self.project = place / "shoes"
        self.environ = {**environ, "HOME": str(place)}
        self._place = place
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def clone(self, remote: Path) -> None:
        self._place.mkdir()
        (self._place / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
        command = ["git", "clone", "-q", str(remote), str(self.project)]
        subprocess.run(command, env=self.environ, check=True)
        # All machines of the demo have one host name; this word replaces the random one after it.
        state = self.project / ".git" / "ostler"
        state.mkdir(mode=0o700)
        (state / "host").write_text(self.name)

    def run(self, *args: str) -> str:
        """Run `ostler` on this machine and return what it printed."""
        done = subprocess.run(
            [OSTLER, *args],
            cwd=self.project,
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"ostler {' '.join(args)} ended with {done.returncode}")
        return done.stdout

    def read(self, *args: str) -> list[Any]:
        """Return the JSON documents that a command prints, one per line."""
        return [json.loads(line) for line in self.run(*args, "--json").splitlines()]

    def start(self, *args: str) -> None:
        """Start `ostler` on this machine; what it prints is in COMMAND.out and COMMAND.log."""
        with self._file(args[0], "out").open("w") as out, self._file(args[0], "log").open("w") as log:
            self._processes[args[0]] = subprocess.Popen(
                [OSTLER, *args],
                cwd=self.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,
            )

    def read_address(self) -> str:
        """Return the address of the dashboard, which `serve --json` prints first."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            first, found, _ = self._file("serve", "out").read_text().partition("\n")
            if found:
                return str(json.loads(first)["url"])
            time.sleep(0.1)
        raise SystemExit(f"ostler serve printed no address: {self._file('serve', 'log').read_text()}")

    def _file(self, command: str, kind: str) -> Path:
        return self._place / f"{command}.{kind}"

    def kill_worker(self) -> None:
        """kill -9, as a crash does."""
        self._processes["worker"].kill()
        self._processes.pop("worker").wait()

    def signal_all(self, number: int = signal.SIGTERM) -> None:
        for process in self._processes.values():
            process.send_signal(number)

    def wait(self) -> None:
        for process in self._processes.values():
            process.wait(_STOP_SECONDS)
        self._processes.clear()


class Cluster:
    """PostgreSQL, Temporal, a git remote, and the machines that use them, below one directory."""

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        self.directory = directory
        self.remote = directory / "shoes.git"
        self.postgres = PostgresServer()
        self.temporal = TemporalServer(directory / "temporal")
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        environ = {**kept, "PATH": f"{OSTLER.parent}{os.pathsep}{os.environ['PATH']}"}
        self.user = Machine("you", directory / "you", environ)
        self.workers = [Machine(name, directory / name, environ) for name in names]

    def start(self, jobs: int) -> None:
        """Start the servers, make the repository and clone it."""
        self.postgres.start()
        self.temporal.start()
        sample = self.directory / "sample"
        create_sample(sample)
        (sample / "tests" / "test_slug.py").unlink()  # it fails until a task of the other demo has run
        (sample / "ostler.toml").write_text(self._settings(jobs))
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(sample)]
        subprocess.run([*git, "commit", "-qam", "Settings of a cluster"], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", str(sample), str(self.remote)], check=True)
        for machine in (self.user, *self.workers):
            machine.clone(self.remote)

    def close(self) -> None:
        machines = (self.user, *self.workers)
        for machine in machines:
            machine.signal_all()
        for machine in machines:
            machine.wait()
        self.temporal.close()
        self.postgres.close()

    def read_commit(self, task: str) -> str:
        """Return the commit of a task at the remote; empty without one."""
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/ostler/tasks/{task}").strip()

    def has_file(self, commit: str, path: str) -> bool:
        return bool(self._git("ls-tree", commit, "--", path))

    def _git(self, *args: str) -> str:
        command = ["git", "-C", str(self.remote), *args]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def _settings(self, jobs: int) -> str:
        return f"""\
[run]
executor = "scripted"
jobs = {jobs}

[phases.plans]
small = ["implement"]

[gates.commands]
implement = "{_GATE}"

[engine]
kind = "temporal"
address = "{self.temporal.address}"
heartbeat_seconds = {HEARTBEAT_SECONDS}

[store]
url = "{self.postgres.url()}"

[blobs]
url = "{(self.directory / "blobs").as_uri()}"

[server]
port = 0
"""
