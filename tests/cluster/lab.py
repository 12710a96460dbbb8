"""A whole cluster: the servers, the remote, the desk and the hosts, below one directory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import psutil
from msgspec import Struct
from servers.postgres import PostgresServer
from servers.s3 import S3Server
from servers.temporal import TemporalServer

from cluster.evidence import Evidence, History, Work, read_work
from cluster.host import Host
from cluster.namespaces import GATEWAY, make_network
from cluster.remote import Remote

BUCKET = "ostler-files"
PHASES = ("implement", "test")
WORDS = ("Task number", "This phase", "phase_complete")  # of tasks, prompts and answers
DRAINED = (0, 128 + signal.SIGTERM)
PREFIX = "copy-"  # of tasks that copy_task.py makes
_CLOSED = ("completed", "failed", "cancelled")


class LabOptions(Struct, frozen=True):
    """The size of a cluster."""

    hosts: int = 3
    jobs: int = 2  # of each worker
    heartbeat_seconds: float = 5.0
    work_seconds: float = 3.0  # of each agent
    engine: Literal["local", "temporal"] = "temporal"  # local: one host with its own store
    settings: str = ""  # more lines of ostler.toml


class Lab:
    """A running cluster; this process must have been started by `namespaces.enter`."""

    def __init__(self, directory: Path, options: LabOptions) -> None:
        self.options = options
        self.directory = directory
        self.log = directory / "agents.jsonl"
        self.tasks: list[str] = []
        self.figures: list[str] = []  # what was measured
        self.failures: list[str] = []  # what was measured and is too slow
        self._followed = directory / "feed.jsonl"
        self._follower: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        make_network()
        servers = self.directory / "servers"
        for name in ("servers", "hosts", "own"):
            (self.directory / name).mkdir(mode=0o755)
        self.log.touch()
        self.remote = Remote(servers / "remote")
        self.remote.start()
        if self.options.engine == "temporal":
            self.temporal = TemporalServer(servers / "temporal", GATEWAY).start()
            self.postgres = PostgresServer(GATEWAY).start()
            self.s3 = S3Server(servers / "s3", GATEWAY).start()
            create_bucket(self.s3, BUCKET)
        self._push_project()
        environ = self._environment()
        names = range(1 if self.options.engine == "local" else 0, self.options.hosts + 1)
        self.machines = [Host(number, self.directory, environ) for number in names]
        self.desk = self.machines[0]
        self.hosts = self.machines[-self.options.hosts :]
        for host in self.machines:
            host.start(self.remote.address, self.remote.github.url, self._behaviour())
        return self

    def __exit__(self, *error: object) -> None:
        # The kernel ends every process of the cluster with the one that `enter` started.
        for host in self.machines:
            host.machine.power_off()
        self.remote.close()
        if self.options.engine == "temporal":
            self.temporal.close()
            self.postgres.close()
            self.s3.close()

    def start_workers(self, failpoint: str = "") -> None:
        """Start all workers; the first one fails at this point."""
        for number, host in enumerate(self.hosts):
            host.start_worker(**({"OSTLER_FAILPOINT": failpoint} if failpoint and not number else {}))

    def new(self, count: int = 1, *args: str) -> list[str]:
        """Create tasks at the desk."""
        first = len(self.tasks) + 1
        made = [self.desk.ostler("new", f"Task number {first + n}", *args).strip() for n in range(count)]
        self.tasks += made
        if self._follower is None:  # before there is a task, there is no project
            self._follower = self.desk.spawn(["events", "--follow", "--json"], self._followed)
        return made

    def statuses(self) -> dict[str, str]:
        return {task: shown["status"] for task, shown in self.shown().items()}

    def shown(self) -> dict[str, dict[str, Any]]:
        listed = self.desk.json("status", "--all") if len(self.tasks) > 20 else self.desk.json("status")
        return {task["id"]: task for task in listed["tasks"] if not task["id"].startswith(PREFIX)}

    def events(self) -> list[dict[str, Any]]:
        """Return the feed without the copies of tasks."""
        lines = (json.loads(line) for line in self.desk.ostler("events", "--json").splitlines())
        return [event for event in lines if not event["task_id"].startswith(PREFIX)]

    def wait_until_done(self, seconds: float) -> None:
        """Wait until every task has ended, or the time is over; the oracle reports those that have not."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not any(host.is_working for host in self.hosts):
                self.failures.append("no worker runs")
                return
            found = self.statuses()
            if all(found.get(task) in _CLOSED for task in self.tasks):
                return
            time.sleep(1)

    def work(self) -> list[Work]:
        """Return what agents have done so far."""
        return read_work(self.log)

    def wait_for_agent(
        self,
        seconds: float = 60,
        where: Callable[[Work], bool] = lambda _: True,
        since: float | None = None,
    ) -> Work:
        """Wait until an agent begins to work, after this moment or now; return its work so far."""
        began = since if since is not None else time.monotonic()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for one in self.work():
                if one.first >= began and where(one):
                    return one
            time.sleep(0.05)
        raise AssertionError(f"no agent began to work within {seconds:.0f} s; {self.statuses()}")

    def host(self, name: str) -> Host:
        return next(host for host in self.machines if host.name == name)

    def collect(self, settle_seconds: float = 3.0) -> Evidence:
        """Drain the workers and return what was seen."""
        time.sleep(settle_seconds)
        for host in self.hosts:
            self.drain(host)
        time.sleep(1)
        shown = self.shown()
        branches = {task: f"ostler/{task}" for task in self.tasks}
        return Evidence(
            tasks=self.tasks,
            shown=shown,
            events=self.events(),
            followed=self._read_followed(),
            work=self.work(),
            pull_requests=[(pull.head, pull.commit) for pull in self.remote.github.pulls],
            ref_updates=self.remote.updates(),
            history={task: self.remote.history(branch) for task, branch in branches.items()},
            files={task: self.remote.files(branch) for task, branch in branches.items()},
            workflows=self._read_workflows(),
            left={host.name: host.processes() for host in self.hosts},
            errors={host.name: host.traceback() for host in self.hosts},
        )

    def drain(self, host: Host) -> None:
        """End a worker as an upgrade does; that it does not end in time is a failure."""
        try:
            code = host.drain()
        except subprocess.TimeoutExpired:
            self.failures.append(f"the worker of {host.name} did not end after SIGTERM")
            host.kill_worker()
            return
        if code not in DRAINED:
            self.failures.append(f"the worker of {host.name} ended with {code}")

    def _read_workflows(self) -> list[History]:
        """Read the histories of all workflows, looking for the text of tasks and prompts in them."""
        if self.options.engine == "local":
            return []
        command = [sys.executable, str(Path(__file__).with_name("histories.py")), self.temporal.address]
        done = subprocess.run([*command, *WORDS], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        return [msgspec.json.decode(line, type=History) for line in done.stdout.splitlines()]

    def _read_followed(self) -> list[int]:
        """End the reader of the feed, and return the numbers that it saw."""
        assert self._follower is not None
        for process in psutil.Process(self._follower.pid).children():
            process.terminate()
        self._follower.wait(20)
        lines = self._followed.read_text().splitlines()
        return [json.loads(line)["seq"] for line in lines if line.startswith("{")]

    def _push_project(self) -> None:
        """Make the first commit of the project, with its settings."""
        place = self.directory / "servers" / "first"
        place.mkdir()
        (place / "README.md").write_text("# Sample\n")
        (place / "ostler.toml").write_text(self._settings())
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        for args in (
            ("init", "-q", "-b", "main"),
            ("add", "-A"),
            (*author, "commit", "-q", "-m", "first"),
            ("push", "-q", str(self.remote.bare), "main"),
        ):
            subprocess.run(["git", *args], cwd=place, check=True, capture_output=True)

    def _settings(self) -> str:
        gates = "\n".join(f'{phase} = "test -s {phase}.txt"' for phase in PHASES)
        text = f"""\
[run]
jobs = {self.options.jobs}
grace_seconds = 1
[git]
target = "main"
on_complete = "pr"
[phases.plans]
small = {json.dumps(PHASES)}
[gates]
control = false
[gates.commands]
{gates}
[host]
min_free_memory_mb = 0
start_stagger_seconds = 0
[retry]
base_delay_seconds = 0.1
{self.options.settings}
"""
        if self.options.engine == "local":
            return text
        return f"""{text}
[engine]
kind = "temporal"
address = "{self.temporal.address}"
heartbeat_seconds = {self.options.heartbeat_seconds}
[store]
url = "{self.postgres.url()}"
[blobs]
url = "s3://{BUCKET}/project"
endpoint = "{self.s3.endpoint}"
region = "us-east-1"
"""

    def _environment(self) -> Mapping[str, str]:
        gh = self.remote.github.environment(self.directory / "gh")
        accounts = self.s3.environment if self.options.engine == "temporal" else {}
        return {**gh, **accounts, "OSTLER_SANDBOX__TIER": "supervised"}

    def _behaviour(self) -> dict[str, object]:
        # The first that fits applies, and a session of a later phase may contain an earlier one.
        phases = [(f"This phase: {phase}", {f"{phase}.txt": "call"}) for phase in reversed(PHASES)]
        when = [{"contains": text, "edits": edits} for text, edits in phases]
        return {"edits": {}, "when": when, "delay_seconds": self.options.work_seconds}


def create_bucket(server: S3Server, bucket: str) -> None:
    """Create a bucket: the server makes it with its first object."""
    import obstore
    from obstore.store import S3Store

    names = {name.lower(): value for name, value in server.environment.items()}
    store = S3Store(bucket, endpoint=server.endpoint, config=names, client_options={"allow_http": True})
    obstore.put(store, "created", b"")
