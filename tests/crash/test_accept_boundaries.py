"""kill -9 while work is published or rebased, or a decision is taken back: nothing happens twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import git
from ostler.testing.fake_github import FakeGitHub
from workflow_world import RIGHT, SETTINGS, WorkflowWorld
from world import wait_until

KEEPS = SETTINGS.replace('"pr"', '"none"')
PLACES = {
    "publish": ("publish.fetch", "publish.rebased", "gate.checked", "publish.pushed", "publish.created"),
    "rebase": ("publish.files", "publish.rebased", "gate.checked", "journal.appended"),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[WorkflowWorld, FakeGitHub]]:
    """A completed task whose branch is kept, and a target that has moved since, here and on GitHub."""
    with FakeGitHub("acme/app", tmp_path / "remote.git") as github:
        made = WorkflowWorld(tmp_path, KEEPS, when=[], files={"calc.py": RIGHT})
        made.add_remote(github, tmp_path / "remote.git")
        yield made, github
        made.close()


def complete(world: WorkflowWorld) -> str:
    task = world.new("Mend the sum")
    world.ostler("run", task)
    Path(world.root, "more.txt").write_text("by a person\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "moved")
    world.git("push", "-q", "origin", "main")
    return task


def check(world: WorkflowWorld, task: str) -> None:
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    shown = world.show(task)
    assert (shown["status"], shown["message"], world.read(task)) == ("completed", "", RIGHT)
    assert world.git("rev-parse", f"ostler/{task}").strip() == shown["commit"]
    assert shown["base"] == world.git("rev-parse", "main").strip()
    assert shown["phases"][1]["gate"]["sha"] == shown["commit"]
    assert world.git("worktree", "list").count("\n") == 1 and not world.git("status", "--porcelain")


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("how", "place"), [(how, one) for how, places in PLACES.items() for one in places])
def test_a_kill_while_completed_work_is_accepted(
    world: tuple[WorkflowWorld, FakeGitHub], how: str, place: str
) -> None:
    """The same command again completes it: one pull request with the checked commit, or none."""
    made, github = world
    task = complete(made)
    calls = len(made.started())
    assert made.ostler(how, task, code=None, OSTLER_FAILPOINT=f"{place}:kill").returncode == -9
    made.ostler(how, task)
    check(made, task)
    commits = [pull.commit for pull in github.pulls]
    assert commits == ([made.show(task)["commit"]] if how == "publish" else [])
    assert git(made.root.parent / "remote.git", "branch").count("ostler/") == len(commits)
    assert len(made.started()) == calls


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["journal.append", "journal.appended"])
def test_a_kill_while_an_approval_is_taken_back(world: tuple[WorkflowWorld, FakeGitHub], place: str) -> None:
    """It is recorded or not; a second undo leads to the same state, and never takes back more."""
    made, _ = world
    gates = {"OSTLER_GATES__PHASES": json.dumps({"test": "human"})}
    task = made.new("Mend the sum")
    made.ostler("run", task, code=4, **gates)
    made.ostler("approve", task)
    assert made.ostler("undo", task, code=None, OSTLER_FAILPOINT=f"{place}:kill").returncode == -9
    made.ostler("undo", task, code=None)
    assert made.show(task)["status"] == "needs_review"
    assert "no decision" in made.ostler("undo", task, code=2).stderr
    made.check_store()
