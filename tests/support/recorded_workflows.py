"""Histories of the workflows on a real server; run it to record them again: python recorded_workflows.py.

Workflows that are open during an upgrade of the workers are continued by the new code, so a history is kept
when the code changes, and a new one is added beside it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HISTORIES = Path(__file__).parent.parent / "data" / "workflows"
SHORT_ROUND = """
from ostler.engine.temporal import board_run
board_run._ROUND_SECONDS = 3.0
from ostler.__main__ import main
main()
"""


def list_histories() -> list[Path]:
    return sorted(HISTORIES.glob("*.json"))


def record(version: str) -> None:
    """Record a whole run of a task, one with a killed worker, and a round of the board."""
    from servers.postgres import PostgresServer
    from servers.temporal import TemporalServer

    from cluster_world import ClusterWorld
    from world import World, wait_until

    place = Path(tempfile.mkdtemp(prefix="record-"))
    os.environ["HOME"] = str(place)
    server = TemporalServer(place / "temporal").start()
    world = World(place)
    database = PostgresServer().start()
    cluster = ClusterWorld(world, server, database.new_database())
    first = cluster.start_worker()
    whole = world.new("Whole")
    cluster.wait_for(whole, "completed")
    world.behave(delay_seconds=3.0)
    parts = world.new("Two parts")
    wait_until(lambda: len(world.started()) == 2, 20, cluster.messages)
    first.kill()
    second = subprocess.Popen(
        [sys.executable, "-c", SHORT_ROUND, "worker"], cwd=world.root, env=world.environ
    )
    cluster.wait_for(parts, "completed")
    time.sleep(6)
    store = next(word for word in server.command("workflow", "list").split() if word.endswith(":board"))
    board = next(
        one for one in _list(server, store) if one["status"] == "WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW"
    )
    for name, args in {
        "task-whole": (f"{store.removesuffix(':board')}/{whole}",),
        "task-killed-worker": (f"{store.removesuffix(':board')}/{parts}",),
        "board-round": (store, "--run-id", board["execution"]["runId"]),
    }.items():
        text = server.command("workflow", "show", "--output", "json", "--workflow-id", *args)
        (HISTORIES / f"{version}-{name}.json").write_text(text)
    second.send_signal(signal.SIGKILL)
    second.wait()
    world.close()
    server.close()
    database.close()


def _list(server: object, workflow: str) -> list[dict[str, object]]:
    query = f'WorkflowId="{workflow}"'
    return json.loads(server.command("workflow", "list", "--output", "json", "--query", query))


if __name__ == "__main__":
    record(sys.argv[1])
