"""Eight tasks at once on one repository, two of which wait for a person over a restart (C90, C109, C113).

make test runs half of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples import FULL
from workflow_world import RIGHT, WorkflowWorld
from world import KILL, wait_until

SETTINGS = """\
[gates.commands]
test = "python3 -B -m unittest -q"

[gates.weights]
medium = "human"

[phases.plans]
medium = ["implement"]

[pools.medium]
size = 5

[host]
start_stagger_seconds = 0.0
"""
QUICK, LOOKED_AT = (6, 2) if FULL else (3, 1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorkflowWorld]:
    made = WorkflowWorld(tmp_path, SETTINGS)
    yield made
    made.close()


def statuses(world: WorkflowWorld) -> dict[str, str]:
    return {task["id"]: task["status"] for task in world.json("status")["tasks"]}


def ends(world: WorkflowWorld) -> list[str]:
    return [event["task_id"] for event in world.events() if event["type"] == "task_completed"]


@pytest.mark.full
@pytest.mark.timeout(300)
def test_eight_tasks_at_once_and_two_that_wait_for_a_person(world: WorkflowWorld) -> None:
    """Six end without a person; two wait, make no call meanwhile, and end after three approvals.

    The first approval is followed by the test gate, which rejects the work once and then asks a person too.
    """
    quick = [world.new(f"Mend the sum {number}") for number in range(QUICK)]
    looked_at = [world.new(f"Look at {number}", "--weight", "medium") for number in range(LOOKED_AT)]
    world.ostler("run", "--all", "-j", "8", code=4)
    found = statuses(world)
    assert found == dict.fromkeys(quick, "completed") | dict.fromkeys(looked_at, "needs_review")
    calls = len(world.started())
    world.ostler("run", "--all", "-j", "8")
    assert len(world.started()) == calls, "waiting costs nothing"
    for code in (4, 4, 0):
        for task in looked_at:
            assert "please review " in world.show(task)["message"]
            world.ostler("approve", task)
        world.ostler("run", "--all", "-j", "8", code=code)
    _check(world, quick, looked_at)


@pytest.mark.timeout(300)
def test_eight_tasks_at_once_killed_in_the_middle(world: WorkflowWorld) -> None:
    """The run is killed after some have ended, and a person approves before the next one: nothing is lost."""
    quick = [world.new(f"Mend the sum {number}") for number in range(QUICK)]
    looked_at = [world.new(f"Look at {number}", "--weight", "medium") for number in range(LOOKED_AT)]
    run = world.start("run", "--all", "-j", "8")
    wait_until(lambda: "needs_review" in statuses(world).values(), 60, "no task asks for a person")
    run.send_signal(KILL)
    run.wait()
    for _ in range(6):
        waiting = [task for task, status in statuses(world).items() if status == "needs_review"]
        for task in waiting:
            world.ostler("approve", task)
        if world.ostler("run", "--all", "-j", "8", code=None).returncode == 0:
            break
    _check(world, quick, looked_at)


def _check(world: WorkflowWorld, quick: list[str], looked_at: list[str]) -> None:
    tasks = [*quick, *looked_at]
    assert statuses(world) == dict.fromkeys(tasks, "completed")
    assert sorted(ends(world)) == sorted(tasks)
    branches = world.git("branch", "--format=%(refname:short)", "--list", "ostler/*").split()
    assert branches == sorted(f"ostler/{task}" for task in tasks)
    for task in quick:
        assert world.read(task) == RIGHT
        assert len(world.commits(task)) == 4, "one commit for each checkpoint"
    for task in looked_at:
        assert len(world.commits(task)) == 2, "the gate of the project sent the work back once"
        assert {phase["gate"]["verdict"] for phase in world.show(task)["phases"]} == {"pass"}
    world.check_store()
    assert world.git("worktree", "list").count("\n") == 1
    assert world.git("status", "--porcelain") == ""
