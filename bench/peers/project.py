"""A repository in which one system runs one task, and the wait for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from measure import scratch
from peers.agent import write_agent
from peers.install import programs
from peers.isolation import agents, end_all
from peers.systems import System

PATIENCE_SECONDS = 180.0
GIT_IDENTITY = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"


class Project:
    """A repository in which one system runs one task with one kind of agent."""

    def __init__(self, place: Path, system: System, mode: str = "instant", calls: int = 1) -> None:
        self.system, self.root, self.home = system, place / "project", place / "home"
        self.agent, self.calls = place / "bin/claude", calls
        self.root.mkdir()
        self.home.mkdir()
        (self.home / ".gitconfig").write_text(GIT_IDENTITY)
        write_agent(self.agent, mode, calls if system.name in REPEATING else 1, system.commits)
        system.prepare(self.root, calls)
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "first")):
            subprocess.run(("git", *command), cwd=self.root, env=self.environ, check=True)
        subprocess.run(("git", "checkout", "-q", "-b", "work"), cwd=self.root, env=self.environ, check=True)

    @property
    def environ(self) -> dict[str, str]:
        own = {"OUROBOROS_TELEMETRY": "0", "DO_NOT_TRACK": "1", "LANG": "C.UTF-8", "HOME": str(self.home)}
        return own | {"PATH": f"{self.agent.parent}:{programs(self.system)}:{os.defpath}:/usr/local/bin"}

    def start(self, argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
        path = shutil.which(argv[0], path=self.environ["PATH"])
        assert path is not None, f"{argv[0]} is not installed"
        with (self.root.parent / "output").open("ab") as output:
            return subprocess.Popen(
                (path, *argv[1:]),
                cwd=self.root,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def start_task(self) -> subprocess.Popen[bytes]:
        return self.start(self.system.command(self.calls))

    @property
    def output(self) -> str:
        return (self.root.parent / "output").read_text(errors="replace")

    @property
    def finished(self) -> bool:
        """Whether the system has recorded that the task is completed."""
        return self.system.finished(self.root, self.output, self.calls)

    @property
    def agent_calls(self) -> int:
        """How often the agent was called, from its own log; in Ostler's sandbox only Ostler has it."""
        log = self.home / "bench-log"
        return len(log.read_text().splitlines()) if log.exists() else self.output.count("attempt started")


REPEATING = ("Ostler", "ralph-tui", "ralph-orchestrator")  # they call the agent until it reports completion


@contextmanager
def project(system: System, mode: str = "instant", calls: int = 1) -> Generator[Project]:
    """A project whose processes have all ended afterwards."""
    with scratch() as place:
        try:
            yield Project(place, system, mode, calls)
        finally:
            end_all()


def wait_for_agent(one: Project) -> None:
    wait_until(lambda: len(agents(one.agent)) > 0, PATIENCE_SECONDS, one)


def wait_until(is_true: Callable[[], bool], seconds: float, one: Project) -> None:
    """Raises TimeoutError with the last output of the system."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{one.system.name}, after {seconds:.0f} s: {one.output[-1500:]}")
        time.sleep(0.01)
