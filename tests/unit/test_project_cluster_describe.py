"""The lines of `ostler cluster doctor`, from what the servers answered."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.cli.terminal.check_lines import format_checks
from ostler.config.cluster import EngineSettings
from ostler.engine.temporal.inspection import QueueFacts, ServerFacts, WorkerFacts
from ostler.project.cluster.describe import describe_labels, describe_server, describe_store
from ostler.store.postgres.inspection import StoreFacts

STORE = StoreFacts("18.4", 0.0012, -0.02, "a1", 12, 11, 12)
SERVER = ServerFacts(
    "1.32.0",
    0.003,
    (WorkerFacts("one:7:ab", ()), WorkerFacts("two:9:cd", ("gpu", "big"))),
    (QueueFacts("", 3, 7.2), QueueFacts("gpu", 0, 0.0), QueueFacts("arm", 2, 60.0)),
    True,
)
IDLE = replace(SERVER, workers=(), queues=(QueueFacts("", 0, 0.0),), has_board=False)


def test_a_healthy_cluster() -> None:
    """Names are aligned; each worker has a line with its labels."""
    tasks = {"": 12, "gpu": 1, "arm": 2}
    checks = [*describe_store(STORE, "db:5432/x", "ostler"), *describe_server(SERVER, EngineSettings())]
    assert format_checks([*checks, *describe_labels(SERVER, tasks)]) == [
        "ok      store      PostgreSQL 18.4 at db:5432/x, 1 ms",
        "ok      tables     schema ostler, version 12",
        "ok      clock      within 0.1 s of PostgreSQL",
        "ok      temporal   server 1.32.0 at 127.0.0.1:7233, namespace default, 3 ms",
        "ok      workers    2 poll the queue ostler:",
        "                   one:7:ab",
        "                   two:9:cd, labels gpu, big",
        "ok      board      its workflow is open",
        "ok      tasks      12 open tasks without a label, 3 waiting for 7 s",
        "ok      label gpu  1 open task",
        "broken  label arm  2 open tasks, 2 waiting for 60 s, but no worker has it",
        "                   ostler worker --labels arm",
    ]


def test_an_idle_cluster() -> None:
    """Without a worker nothing starts: each missing part has the command that starts it."""
    lines = format_checks([*describe_server(IDLE, EngineSettings()), *describe_labels(IDLE, {})])
    assert lines[1:] == [
        "broken  workers   none polls the queue ostler",
        "                  run ostler worker on each machine that runs tasks",
        "broken  board     its workflow is not open, so no task is started",
        "                  ostler worker and ostler run --all start it",
    ]


def test_the_board_of_an_unknown_store() -> None:
    """Nothing is said about it: the store is what has to be corrected."""
    lines = format_checks(describe_server(replace(IDLE, has_board=None), EngineSettings()))
    assert not any("board" in line for line in lines)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"store_id": ""}, "broken  tables  schema ostler has no tables of Ostler"),
        ({"version": 14, "works_with": 13}, "broken  tables  schema ostler, version 14: made by a newer"),
        (
            {"version": 14, "works_with": 12},
            "ok      tables  schema ostler, version 14; usable, though this Ostler has 12",
        ),
        (
            {"version": 11},
            "ok      tables  schema ostler, version 11; the next command makes it 12",
        ),
        ({"ahead_seconds": 9.6}, "warning clock   this machine is 10 s behind PostgreSQL"),
        ({"ahead_seconds": -9.6}, "warning clock   this machine is 10 s ahead of PostgreSQL"),
    ],
)
def test_a_store_that_differs(changed: dict[str, object], line: str) -> None:
    """Tables of another version and clocks that differ are named with the fix."""
    lines = format_checks(describe_store(replace(STORE, **changed), "db:5432/x", "ostler"))
    assert any(one.startswith(line) for one in lines)
