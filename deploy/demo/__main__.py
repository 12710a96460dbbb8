"""`make cluster-demo`: 50 tasks on three workers with real servers; one worker is killed on the way.

The workers run on this machine, with a home directory and a clone each. A scripted agent replaces the model;
the servers, processes, commits and the takeover are real.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from machines import HEARTBEAT_SECONDS, OSTLER, Cluster, Machine
from msgspec import Struct

NAMES = ("alpha", "beta", "gamma")
JOBS = 4
ENDED = ("completed", "failed", "blocked", "quarantined")
_START_SECONDS = 30.0
_LIMIT_SECONDS = 600.0
_POLL_SECONDS = 1.0
_TASK = """\
# Add the price of model {number}

Prices are functions of their own, with a test.

```ostler-script
- say: I add the function and its test.
- sleep: {seconds}
- edit: {{path: shoes/model_{number}.py, content: "def price():\\n    return {cents}\\n"}}
- edit:
    path: tests/test_model_{number}.py
    content: |
      import unittest

      from shoes.model_{number} import price


      class Model{number}Test(unittest.TestCase):
          def test_price(self):
              self.assertEqual(price(), {cents})
- sleep: {seconds}
- say: price() gives {cents}. <phase_complete>true</phase_complete>
```
"""


class Kill(Struct, frozen=True):
    """The worker that was killed, and when."""

    machine: Machine
    at: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="make cluster-demo", description=__doc__)
    parser.add_argument("--tasks", type=int, default=50, help="default: 50")
    parser.add_argument("--exit", action="store_true", help="end when the tasks have ended")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory = Path(tempfile.mkdtemp(prefix="ostler-cluster-")).resolve()
    cluster = Cluster(directory, NAMES)
    try:
        return run(cluster, asked.tasks, ends=asked.exit or not sys.stdout.isatty())
    except KeyboardInterrupt:
        print("\nStopping the workers and the servers.")
        return 130
    finally:
        cluster.close()
        shutil.rmtree(directory, ignore_errors=True)


def run(cluster: Cluster, count: int, *, ends: bool) -> int:
    print("Starting PostgreSQL, Temporal and three workers with a clone each ...\n", flush=True)
    cluster.start(JOBS)
    print("$ ostler init", flush=True)
    cluster.user.run("init")
    print()
    for machine in cluster.workers:
        machine.start("worker")
    cluster.user.start("serve", "--view-only", "--json")
    wait_for_workers(cluster)
    print("$ ostler cluster doctor")
    print(cluster.user.run("cluster", "doctor"), flush=True)
    print(f"Dashboard: {cluster.user.read_address()}\n", flush=True)
    print("$ ostler import tasks", flush=True)
    added = cluster.user.read("import", write_tasks(cluster.user, count))[0]["tasks"]
    print(f"added {len(added)} tasks; the workers start them\n")
    killed = watch(cluster, count)
    code = report(cluster, killed, count)
    if not ends:
        print_next(cluster.user)
        wait_for_interrupt()
    return code


def wait_for_workers(cluster: Cluster) -> None:
    """Wait until all workers ask the server for tasks; the doctor then shows what is missing, if anything."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        checks = cluster.user.read("cluster", "doctor")[0]["checks"]
        polling = next((one["more"] for one in checks if one["name"] == "workers"), [])
        if len(polling) == len(cluster.workers):
            return


def write_tasks(machine: Machine, count: int) -> str:
    """Write the files of the tasks; return their directory."""
    folder = machine.project / "tasks"
    folder.mkdir()
    for number in range(1, count + 1):
        text = _TASK.format(number=number, cents=1000 + number, seconds=1.0)
        (folder / f"model-{number:03}.md").write_text(text)
    return folder.name


def watch(cluster: Cluster, count: int) -> Kill | None:
    """Print the progress until no task is left to run, and kill a worker: when a third of the tasks has
    ended, or when all others are running, as a few tasks end at the same time.
    """
    started = time.monotonic()
    killed: Kill | None = None
    print(f"{'time':>6}{'waiting':>9}{'running':>9}{'ended':>9}   running on")
    while True:
        tasks = cluster.user.read("status", "--all")[0]["tasks"]
        seconds = time.monotonic() - started
        places = Counter(name_machine(task) for task in tasks if task["status"] == "in_progress")
        ended = sum(task["status"] in ENDED for task in tasks)
        waiting = len(tasks) - places.total() - ended
        shares = "  ".join(f"{machine.name} {places[machine.name]}" for machine in cluster.workers)
        print(f"{seconds:4.0f} s{waiting:9}{places.total():9}{ended:9}   {shares}", flush=True)
        if ended == count or seconds > _LIMIT_SECONDS:
            return killed
        if killed is None and places and (ended >= count // 3 or waiting == 0):
            name = places.most_common(1)[0][0]
            machine = next(one for one in cluster.workers if one.name == name)
            machine.kill_worker()
            killed = Kill(machine, time.time())
            print(f"       kill -9 of the worker on {name}", flush=True)
        time.sleep(_POLL_SECONDS)


def name_machine(task: dict[str, Any]) -> str:
    """Return the machine that claimed a task last: the host name of this machine and its own name."""
    return str(task["host"] or "").rpartition("-")[2]


def report(cluster: Cluster, killed: Kill | None, count: int) -> int:
    """Print what the journal and the remote have; return the exit code."""
    tasks = cluster.user.read("status", "--all")[0]["tasks"]
    events = cluster.user.read("events")
    ends = Counter(event["task_id"] for event in events if event["type"] == "task_completed")
    once = sum(ends[task["id"]] == 1 for task in tasks)
    stored = sum(is_stored(cluster, task) for task in tasks)
    print()
    print_row("completed exactly once", f"{once} of {count}")
    print_row("commit and test at the git remote", f"{stored} of {count}")
    if killed is None:
        print_row("worker killed", "none: no task was running")
        return 1
    lost = find_lost(events, killed)
    delays = [delay for task in lost if (delay := find_delay(events, task, killed.at)) is not None]
    print_row(f"continued after the kill on {killed.machine.name}", f"{len(delays)} of {len(lost)}")
    if delays:
        span = f"{min(delays):.1f} to {max(delays):.1f} s"
        print_row("from the kill to the next claim", f"{span} (heartbeat {HEARTBEAT_SECONDS} s)")
    return 0 if once == stored == count and len(delays) == len(lost) > 0 else 1


def find_lost(events: Sequence[dict[str, Any]], killed: Kill) -> list[str]:
    """Return the tasks that the killed worker was running: claimed by it, and not ended before."""
    claimed: dict[str, str] = {}
    for event in events:
        if read_time(event) > killed.at:
            break
        if event["type"] == "task_claimed":
            claimed[event["task_id"]] = event["host"].rpartition("-")[2]
        elif event["type"] in ("task_completed", "task_failed"):
            claimed.pop(event["task_id"], None)
    return [task for task, name in claimed.items() if name == killed.machine.name]


def find_delay(events: Sequence[dict[str, Any]], task: str, since: float) -> float | None:
    """Return the seconds until another worker claimed a task."""
    claims = [event for event in events if event["task_id"] == task and event["type"] == "task_claimed"]
    return next((read_time(event) - since for event in claims if read_time(event) > since), None)


def read_time(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


def print_row(name: str, value: str) -> None:
    print(f"  {name:36}{value}", flush=True)


def is_stored(cluster: Cluster, task: dict[str, Any]) -> bool:
    """Return whether the remote has the recorded commit of a task, with its test."""
    number = task["title"].rpartition(" ")[2]
    commit = cluster.read_commit(task["id"])
    return commit == task["commit"] and cluster.has_file(commit, f"tests/test_model_{number}.py")


def print_next(machine: Machine) -> None:
    print("\nThe servers and two workers run until Ctrl-C. In another terminal:\n")
    print(f"  cd {shlex.quote(str(machine.project))}")
    print(
        f"  export HOME={shlex.quote(machine.environ['HOME'])} PATH={shlex.quote(str(OSTLER.parent))}:$PATH"
    )
    print("  ostler status")
    print('  ostler new "Describe the prices" && ostler run --all')
    print("  ostler cluster doctor", flush=True)


def wait_for_interrupt() -> None:
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    sys.exit(main())
