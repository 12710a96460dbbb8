"""on_complete = "merge" when the target is checked out, which is the usual case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.environ["OSTLER_GIT__ON_COMPLETE"] = "merge"
    yield made
    made.close()


def test_a_clean_checkout_is_fast_forwarded(world: World) -> None:
    """The task completes, and its files are in the user's checkout."""
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert world.git("rev-parse", "main").strip() == shown["commit"]
    assert Path(world.root, "fake-agent.txt").exists() and not world.git("status", "--porcelain")


def test_a_task_of_a_detached_checkout_needs_a_branch(world: World) -> None:
    """Its own branch is no target; after a checkout of a branch, `retry` merges into that one."""
    world.git("checkout", "-q", "--detach")
    task = world.new()
    world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["code"], shown["target"]) == ("PUBLISH_FAILED", None)
    assert "starts from a detached commit and has no target branch" in shown["message"]
    world.git("checkout", "-q", "main")
    world.ostler("retry", task)
    world.ostler("run", task)
    assert world.git("rev-parse", "main").strip() == world.show(task)["commit"]


def wait_for_person(world: World) -> tuple[str, str]:
    """Run a task while the checkout has changes; return its id and the command to type."""
    Path(world.root, "README.md").write_text("changed\n")
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("needs_review", None)
    assert "uncommitted changes (README.md)" in shown["message"]
    command = f"git -C {world.root} merge --no-overwrite-ignore ostler/{task}"
    assert command in world.ostler("show", task).stdout.replace("\n" + " " * 12, " ")
    assert Path(world.root, "README.md").read_text() == "changed\n"
    return task, command


def test_a_dirty_checkout_needs_a_person(world: World) -> None:
    """The task waits with the command; after the person typed it, the next run completes the task."""
    task, _ = wait_for_person(world)
    world.git("merge", "-q", f"ostler/{task}")
    world.ostler("run", "--all")
    assert world.show(task)["status"] == "completed"
    assert [gate["gate"]["verdict"] for gate in world.show(task)["phases"]] == ["not_checked"]
    assert len(world.started()) == 1


@pytest.mark.full
def test_approving_tries_again(world: World) -> None:
    """After the changes are put away, an approval merges without a person's command."""
    task, _ = wait_for_person(world)
    world.git("checkout", "-q", "--", "README.md")
    world.ostler("approve", task)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert world.git("rev-parse", "main").strip() == world.show(task)["commit"]


@pytest.mark.full
def test_rejecting_sends_the_work_back(world: World) -> None:
    """A rejection instead of the merge goes to the agent."""
    task, _ = wait_for_person(world)
    world.ostler("reject", task, "-m", "shorter")
    assert world.show(task)["status"] == "revision"
    world.git("checkout", "-q", "--", "README.md")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed" and len(world.started()) == 2
