"""kill -9 at every boundary from a failing test to a pull request (B2-B5, C113, C118)."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundaries import FULL, kill_at_boundaries
from oracle import ENDS
from ostler.testing.fake_github import FakeGitHub
from workflow_world import RIGHT, WorkflowWorld
from world import wait_until

# The minimum number of times that each failpoint is reached; group commit may join records.
PLACES = {
    "journal.append": 20,
    "journal.appended": 20,
    "gate.check": 2,
    "gate.checked": 2,
    "publish.fetch": 1,
    "publish.rebased": 1,
    "publish.pushed": 1,
    "publish.created": 1,
    "checkpoint.commit": 4,
    "checkpoint.committed": 4,
}
STRIDE = 3  # a lane takes every third boundary, so that several cores share them
LANES = range(STRIDE) if FULL else range(1)
HISTORY = [f"{phase} - completed" for phase in ("implement", "test", "implement", "test")]


@pytest.mark.sampled(1)
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("place", PLACES)
def test_a_kill_anywhere_leaves_the_same_history(tmp_path: Path, place: str, lane: int) -> None:
    """The run is killed there, the next one ends it: one branch, one commit per checkpoint, one PR."""
    kill_at_boundaries(
        lambda number: _dies(tmp_path / f"{number}", f"{place}:kill:{number}"), PLACES[place], lane, STRIDE
    )


def _dies(directory: Path, failpoint: str) -> bool:
    bare = directory / "remote.git"
    with FakeGitHub("acme/app", bare) as github:
        world = WorkflowWorld(directory)
        world.add_remote(github, bare)
        task = world.new("Mend the sum")
        code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
        assert code in (0, -9), failpoint
        world.ostler("run", "--all")
        _check_history(world, task, github)
        world.close()
    return code == -9


def _check_history(world: WorkflowWorld, task: str, github: FakeGitHub) -> None:
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("completed", None), shown
    assert [event["type"] for event in world.events(task) if event["type"] in ENDS] == ["task_completed"]
    _check_git(world, task)
    (pull,) = github.pulls
    assert (pull.url, pull.commit) == (shown["pr_url"], shown["commit"])
    assert [asked.operation for asked in github.requests].count("PullRequestCreate") == 1
    gate = shown["phases"][1]["gate"]
    assert (gate["verdict"], gate["sha"]) == ("pass", world.commits(task)[-1][0])


def _check_git(world: WorkflowWorld, task: str) -> None:
    assert [name for _, name in world.commits(task)] == HISTORY
    assert world.git("branch", "--format=%(refname:short)").split() == ["main", f"ostler/{task}"]
    assert world.git("diff", "--name-only", "main", f"ostler/{task}").split() == ["calc.py"]
    assert world.read(task) == RIGHT
    assert world.git("worktree", "list").count("\n") == 1, "a worktree was left"
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"
