"""Projects whose tasks are run by workers of a cluster, with a real Temporal server and PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from servers.temporal import TemporalServer

from ostler.model.ids import TaskId
from ostler.project.project import Project
from postgres_world import create_tables
from world import GIT, World, wait_until

HEARTBEAT_SECONDS = 1.0


class ClusterWorld:
    """One project directory that all workers share; the workers end with the world."""

    def __init__(self, world: World, server: TemporalServer, store: str) -> None:
        self.world = world
        self.use(server)
        world.environ |= {
            "OSTLER_ENGINE__KIND": "temporal",
            "OSTLER_ENGINE__SHARED_ROOT": "true",
            "OSTLER_ENGINE__QUEUE": f"q{store.rpartition('/')[2]}",
            "OSTLER_ENGINE__HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            "OSTLER_STORE__URL": store,
        }
        create_tables(store)

    def use(self, server: TemporalServer) -> None:
        self.server = server
        self.world.environ["OSTLER_ENGINE__ADDRESS"] = server.address

    def start_worker(self, jobs: int = 1, *labels: str) -> subprocess.Popen[bytes]:
        """Start a worker; its messages are in `messages`."""
        more = ("--labels", ",".join(labels)) if labels else ()
        return self.world.start("worker", "-j", str(jobs), *more)

    @property
    def messages(self) -> str:
        return (self.world.ledger.parent / "err.txt").read_text()

    def status(self, task: str) -> str:
        with Project.open(self.world.root, self.world.environ) as project:
            return project.state(TaskId(task)).status

    def wait_for(self, task: str, status: str, seconds: float = 60) -> float:
        """Wait until the task has this status; return how long that took."""
        started = time.monotonic()
        wait_until(lambda: self.status(task) == status, seconds, f"{task} is not {status}: {self.messages}")
        return time.monotonic() - started

    def read_history(self, task: str) -> str:
        """Return the history of the last workflow of a task, as JSON, once it has ended."""
        name = f"{self._store_id()}/{task}"
        wait_until(lambda: self._is_closed(name), 30, f"{name} is open")
        return self.server.command("workflow", "show", "--output", "json", "--workflow-id", name)

    def _is_closed(self, name: str) -> bool:
        found = json.loads(
            self.server.command("workflow", "describe", "--output", "json", "--workflow-id", name)
        )
        return found["workflowExecutionInfo"]["status"] == "WORKFLOW_EXECUTION_STATUS_COMPLETED"

    def _store_id(self) -> str:
        with Project.open(self.world.root, self.world.environ) as project:
            return project.journal.store_id


class Host(ClusterWorld):
    """One machine: its own home directory and its own clone of a project."""

    def __init__(self, place: Path, origin: Path, blobs: Path, server: TemporalServer, store: str) -> None:
        world = World(place, git=False)
        world.root.rmdir()
        subprocess.run([*GIT, "clone", "-q", origin, world.root], check=True)
        super().__init__(world, server, store)
        (place / "home").mkdir()
        (place / "home" / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
        del world.environ["OSTLER_ENGINE__SHARED_ROOT"]
        world.environ |= {"HOME": str(place / "home"), "OSTLER_BLOBS__URL": blobs.as_uri()}


def make_hosts(place: Path, server: TemporalServer, store: str, *names: str) -> list[Host]:
    """Return machines that share a git remote, blobs, a Temporal server and a PostgreSQL database."""
    seed = World(place, "seed")
    origin = place / "origin.git"
    subprocess.run([*GIT, "clone", "-q", "--bare", seed.root, origin], check=True)
    return [Host(place / name, origin, place / "blobs", server, store) for name in names]
