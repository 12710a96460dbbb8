"""kill -9 at every boundary after a person's decision: it is executed once, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from boundaries import FULL, kill_at_boundaries
from workflow_world import COMMAND, RIGHT, WorkflowWorld
from world import wait_until

GATED = f'[gates.commands]\ntest = "{COMMAND}"\n[gates.phases]\nimplement = "human"\n'
# The minimum number of times that each failpoint is reached.
PLACES = {"journal.append": 4} | ({"journal.appended": 4, "checkpoint.committed": 1} if FULL else {})
STRIDE = 3  # a lane takes every third boundary
LANES = range(STRIDE) if FULL else range(1)
PHASES = ["implement - completed", "test - completed"]


def rewinds(world: WorkflowWorld, task: str) -> None:
    """The task is completed, and a person rewinds all of it."""
    world.ostler("approve", task)
    world.ostler("run", task)
    world.ostler("rewind", task, "--to", "implement")


def rejects(world: WorkflowWorld, task: str) -> None:
    world.ostler("reject", task, "-m", "Not like this.")


def approves(world: WorkflowWorld, task: str) -> None:
    world.ostler("approve", task)


# The command, and the commits of the branch in the end.
WORDS: dict[Callable[[WorkflowWorld, str], None], list[str]] = {
    approves: PHASES,
    rejects: [PHASES[0], *PHASES],
    rewinds: PHASES,
}


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("speak", WORDS)
def test_a_kill_after_a_decision_changes_nothing(
    tmp_path: Path, speak: Callable[[WorkflowWorld, str], None], place: str, lane: int
) -> None:
    """The run is killed there; the next ones lead to the same branch, for every command."""
    kill_at_boundaries(
        lambda number: _dies(tmp_path / f"{number}", speak, f"{place}:kill:{number}"),
        PLACES[place],
        lane,
        STRIDE,
    )


def _dies(directory: Path, speak: Callable[[WorkflowWorld, str], None], failpoint: str) -> bool:
    world = WorkflowWorld(directory, GATED, when=[], files={"calc.py": RIGHT})
    task = world.new("Mend the sum")
    world.ostler("run", task, code=4)
    speak(world, task)
    code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
    assert code in (0, 4, -9), failpoint
    if world.ostler("run", "--all", code=None).returncode == 4 or _waits(world, task):
        world.ostler("approve", task)
        world.ostler("run", "--all")
    _check(world, task, WORDS[speak])
    world.close()
    return code == -9


def _waits(world: WorkflowWorld, task: str) -> bool:
    return world.show(task)["status"] == "needs_review"


def _check(world: WorkflowWorld, task: str, commits: list[str]) -> None:
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    shown = world.show(task)
    assert (shown["status"], world.read(task)) == ("completed", RIGHT)
    assert [name for _, name in world.commits(task)] == commits
    assert world.git("branch", "--format=%(refname:short)").split() == ["main", f"ostler/{task}"]
    assert world.git("worktree", "list").count("\n") == 1, "a worktree was left"
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"
