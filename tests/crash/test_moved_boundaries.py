"""kill -9 where a target moved: the published commit has passed its gate, once, after any kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from boundaries import FULL, kill_at_boundaries
from git_world import git
from oracle import ENDS
from ostler.testing.fake_github import FakeGitHub
from workflow_world import RIGHT, WorkflowWorld
from world import wait_until

# The minimum number of times that each failpoint is reached; group commit may join records.
PLACES = {
    "publish.fetch": 2,
    "publish.files": 1,
    "publish.rebased": 2,
    "publish.pushed": 1,
    "publish.created": 1,
    "gate.check": 2,
    "gate.checked": 2,
}
JOURNAL = {"journal.append": 14, "journal.appended": 14}
WHERE = PLACES | (JOURNAL if FULL else {})
HISTORY = ["implement - completed", "test - completed"]


@pytest.mark.sampled(2)
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("place", WHERE)
def test_a_kill_anywhere_publishes_what_the_gate_saw(tmp_path: Path, place: str) -> None:
    """The run is killed there, the next one ends it: one rebase, one verdict, one pull request."""
    kill_at_boundaries(lambda number: _dies(tmp_path / f"{number}", f"{place}:kill:{number}"), WHERE[place])


def _dies(directory: Path, failpoint: str) -> bool:
    bare = directory / "remote.git"
    with FakeGitHub("acme/app", bare) as github:
        world = WorkflowWorld(directory, when=[], files={"calc.py": RIGHT})
        world.add_remote(github, bare)
        _move_target(directory, bare)
        task = world.new("Mend the sum")
        code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
        assert code in (0, -9), failpoint
        world.ostler("run", "--all")
        _check(world, task, github)
        world.close()
    return code == -9


def _move_target(directory: Path, bare: Path) -> None:
    clone = directory / "theirs"
    git(directory, "clone", "-q", str(bare), str(clone))
    (clone / "other.txt").write_text("theirs\n")
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "theirs")
    git(clone, "push", "-q", "origin", "main")


def _check(world: WorkflowWorld, task: str, github: FakeGitHub) -> None:
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    shown, events = world.show(task), world.events(task)
    assert (shown["status"], shown["code"]) == ("completed", None), shown
    assert [event["type"] for event in events if event["type"] in ENDS] == ["task_completed"]
    assert [event["type"] for event in events].count("work_rebased") == 1
    (pull,) = github.pulls
    assert (pull.url, pull.commit) == (shown["pr_url"], shown["commit"])
    decided = [event for event in events if event["type"] == "gate_decided"]
    verdicts = [(one["verdict"], one["sha"]) for one in decided if one["verdict"] != "not_checked"]
    assert [verdict for verdict, _ in verdicts] == ["pass", "pass"]
    assert verdicts[1][1] == pull.commit != verdicts[0][1]
    _check_git(world, task, pull.commit)


def _check_git(world: WorkflowWorld, task: str, commit: str) -> None:
    bare = world.root.parent / "remote.git"
    names = git(bare, "log", "--reverse", "--format=%s", f"main..{commit}").splitlines()
    assert [name.partition(f"{task}: ")[2] for name in names] == HISTORY
    assert git(bare, "diff", "--name-only", "main", commit).split() == ["calc.py"]
    assert world.git("rev-parse", f"ostler/{task}").strip() == commit
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"
