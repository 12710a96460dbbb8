"""Pull requests of tasks that build on each other: stacked, and retargeted when the lower one is merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import git
from ostler.testing.fake_github import FakeGitHub
from workflow_world import WorkflowWorld

SETTINGS = '[git]\ntarget = "main"\non_complete = "pr"\n'
FIRST = {"contains": "Write one", "edits": {"one.txt": "one"}}
SECOND = {"contains": "Write two", "edits": {"two.txt": "two"}}


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    with FakeGitHub("acme/app", tmp_path / "remote.git") as made:
        yield made


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    made = WorkflowWorld(tmp_path, SETTINGS, files={}, when=[FIRST, SECOND])
    made.environ["OSTLER_PHASES__PLANS__SMALL"] = '["implement"]'
    made.add_remote(github, tmp_path / "remote.git")
    yield made
    made.close()


def publish_two(world: WorkflowWorld) -> tuple[str, str]:
    first = world.new("Write one")
    second = world.new("Write two", "--after", first)
    world.ostler("run", "--all")
    return first, second


def squash_on_github(world: WorkflowWorld, github: FakeGitHub, task: str) -> None:
    """Merge the first pull request as one commit on the remote, as GitHub does."""
    clone = world.root.parent / "clone"
    world.git("clone", "-q", str(world.root.parent / "remote.git"), str(clone))
    git(clone, "merge", "-q", "--squash", f"origin/ostler/{task}")
    git(clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "squashed")
    git(clone, "push", "-q", "origin", "main")
    github.hub.merge(1)


@pytest.mark.full
def test_pull_requests_are_stacked(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The base of the second is the branch of the first while that has an open pull request."""
    first, second = publish_two(world)
    assert [(pull.head, pull.base) for pull in github.pulls] == [
        (f"ostler/{first}", "main"),
        (f"ostler/{second}", f"ostler/{first}"),
    ]
    shown = world.show(second)
    assert shown["published_into"] == f"ostler/{first}"
    assert "when that is merged" in shown["warnings"][0]
    assert f"(into ostler/{first})" in world.ostler("show", second).stdout.replace("\n" + " " * 12, " ")


@pytest.mark.full
def test_a_stacked_pull_request_is_retargeted(world: WorkflowWorld, github: FakeGitHub) -> None:
    """After a squash merge the next run rebases the second onto the target and changes its base."""
    first, second = publish_two(world)
    world.ostler("run", "--all")
    assert github.pulls[1].base == f"ostler/{first}"
    squash_on_github(world, github, first)
    shown = world.ostler("run", "--all")
    assert f"{first} is merged" in shown.stderr + shown.stdout
    assert (github.pulls[1].base, github.pulls[1].state) == ("main", "OPEN")
    state = world.show(second)
    assert (state["status"], state["published_into"]) == ("completed", "main")
    bare = world.root.parent / "remote.git"
    assert git(bare, "rev-list", "--count", f"main..ostler/{second}") == "1"
    assert git(bare, "merge-base", "main", f"ostler/{second}") == git(bare, "rev-parse", "main")
    assert len(world.started()) == 2


@pytest.mark.full
def test_a_predecessor_that_is_merged_first_gives_a_plain_pull_request(
    world: WorkflowWorld, github: FakeGitHub
) -> None:
    """The second task starts later: its base is the target."""
    first = world.new("Write one")
    world.ostler("run", first)
    squash_on_github(world, github, first)
    second = world.new("Write two", "--after", first)
    world.ostler("run", second)
    assert github.pulls[1].base == "main"
    bare = world.root.parent / "remote.git"
    assert git(bare, "rev-list", "--count", f"main..ostler/{second}") == "1"


@pytest.mark.full
def test_github_that_does_not_answer_stops_nothing(world: WorkflowWorld, github: FakeGitHub) -> None:
    """The check of stacked pull requests is reported and repeated by the next run."""
    first, _ = publish_two(world)
    squash_on_github(world, github, first)
    github.fail("", "forbidden", times=1)
    shown = world.ostler("run", "--all")
    assert "stacked pull requests were not checked" in shown.stderr + shown.stdout
    world.ostler("run", "--all")
    assert github.pulls[1].base == "main"


def test_the_body_lists_warnings_and_overruled_gates(world: WorkflowWorld, github: FakeGitHub) -> None:
    """T4, T5: the pull request does not report as passed what a person overruled."""
    world.environ["OSTLER_GATES__COMMANDS"] = '{"implement": "exit 1"}'
    world.environ["OSTLER_PHASES__MAX_PHASE_RETRIES"] = "0"
    world.behave(edits={"one.txt": "one"}, text="Half of it.")
    world.environ["OSTLER_PHASES__PLANS__TRIVIAL"] = '["implement"]'
    task = world.new("Write one", "--weight", "trivial")
    world.ostler("run", task, code=4)
    assert world.show(task)["warnings"] == ["NO_MARK"]
    world.ostler("approve", task, "-m", "known flake")
    world.ostler("run", task)
    (pull,) = github.pulls
    assert "## Warnings" in pull.body and "NO_MARK" in pull.body
    (line,) = [one for one in pull.body.splitlines() if "implement:" in one]
    assert "overruled" in line and "known flake" in line and "exit 1" in line


def test_the_body_lists_executed_configuration(world: WorkflowWorld, github: FakeGitHub) -> None:
    """S5: a reviewer of the pull request reads which changed files programs execute."""
    world.behave(edits={".vscode/tasks.json": "{}"})
    world.environ["OSTLER_PHASES__PLANS__TRIVIAL"] = '["implement"]'
    task = world.new("Write tasks", "--weight", "trivial")
    world.ostler("run", task, code=4)
    world.ostler("approve", task)
    world.ostler("run", task)
    (pull,) = github.pulls
    assert "changes files that agents, editors or CI execute: .vscode/tasks.json" in pull.body
