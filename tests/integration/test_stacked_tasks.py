"""A task that comes after others starts from their work, and follows it when it changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World, wait_until

FIRST = {"contains": "Write one", "edits": {"one.txt": "one"}}
SECOND = {"contains": "Write two", "edits": {"two.txt": "two"}}
THIRD = {"contains": "Write three", "edits": {"three.txt": "three"}}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, edits={}, when=[FIRST, SECOND, THIRD])
    yield made
    made.close()


def files(world: World, commit: str) -> set[str]:
    return set(world.git("ls-tree", "-r", "--name-only", commit).split())


def test_a_task_starts_from_its_predecessor(world: World) -> None:
    """Its base is the final commit of the first task; its diff has only its own changes."""
    first = world.new("Write one")
    second = world.new("Write two", "--after", first)
    world.ostler("run", "--all")
    shown, before = world.show(second), world.show(first)
    assert shown["base"] == before["commit"]
    assert shown["builds_on"] == [{"task": first, "commit": before["commit"], "merged": False}]
    assert files(world, shown["commit"]) == {"README.md", "one.txt", "two.txt"}
    assert "one.txt" not in world.json("diff", second)["patch"]
    assert f"starts from {first} at {before['commit'][:10]}" in world.ostler("show", second).stdout


def test_order_only_starts_from_the_target(world: World) -> None:
    """--order-only gives the order alone; without --after it is an error."""
    first = world.new("Write one")
    second = world.new("Write two", "--after", first, "--order-only")
    world.ostler("run", "--all")
    assert files(world, world.show(second)["commit"]) == {"README.md", "two.txt"}
    assert "starts from main at" in world.ostler("show", second).stdout
    assert "--order-only needs --after" in world.ostler("new", "x", "--order-only", code=2).stderr


@pytest.mark.full
def test_several_predecessors_are_merged(world: World) -> None:
    """The base of a task after two others has the files of both; the user's checkout stays."""
    one, two = world.new("Write one"), world.new("Write two")
    last = world.new("Write three", "--after", one, "--after", two)
    head = world.git("rev-parse", "HEAD")
    world.ostler("run", "--all")
    shown = world.show(last)
    assert files(world, shown["commit"]) == {"README.md", "one.txt", "two.txt", "three.txt"}
    assert "two.txt" not in world.json("diff", last)["patch"]
    assert world.git("rev-parse", "HEAD") == head and not world.git("status", "--porcelain")


@pytest.mark.full
def test_a_conflict_of_predecessors_needs_a_person(world: World) -> None:
    """MERGE_CONFLICT names the files and the tasks; after the person merged both, the task starts."""
    world.behave(edits={}, when=[FIRST | {"files": {"same.txt": "1"}}, SECOND | {"files": {"same.txt": "2"}}])
    one, two = world.new("Write one"), world.new("Write two")
    last = world.new("Say hello", "--after", one, "--after", two)
    world.ostler("run", "--all", code=4)
    shown = world.show(last)
    assert (shown["status"], shown["code"]) == ("blocked", "MERGE_CONFLICT")
    assert "same.txt" in shown["message"] and one in shown["message"] and two in shown["message"]
    world.git("merge", "-q", f"ostler/{one}")
    world.git("merge", "-q", "-X", "ours", f"ostler/{two}", "-m", "both")
    world.ostler("resume", last)
    world.behave(edits={}, files={"last.txt": "last"})
    world.ostler("run", last)
    assert world.show(last)["base"] == world.git("rev-parse", "HEAD").strip()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("squashed", [False, True])
def test_a_merged_predecessor_is_in_the_target(world: World, squashed: bool) -> None:
    """After a merge or a squash merge, and further changes, the task starts from the target."""
    first = world.new("Write one")
    second = world.new("Write two", "--after", first)
    world.ostler("run", first)
    world.git("merge", "-q", "--squash" if squashed else "--no-ff", f"ostler/{first}")
    if squashed:
        world.git("commit", "-q", "-m", "squashed")
    Path(world.root, "one.txt").write_text("changed later\n")
    world.git("commit", "-q", "-a", "-m", "later")
    world.ostler("run", second)
    assert world.show(second)["base"] == world.git("rev-parse", "HEAD").strip()
    assert f"which has the work of {first}" in world.ostler("show", second).stdout


def test_a_merged_predecessor_and_an_open_one(world: World) -> None:
    """The base has the target and the open work, also if the open branch is older."""
    one, two = world.new("Write one"), world.new("Write two")
    world.ostler("run", one, two)
    world.git("merge", "-q", f"ostler/{one}")
    last = world.new("Write three", "--after", one, "--after", two)
    world.ostler("run", last)
    assert files(world, world.show(last)["commit"]) == {"README.md", "one.txt", "two.txt", "three.txt"}


def start_second(world: World) -> tuple[str, str]:
    """Complete a task; the one after it waits for a review of its first phase."""
    first = world.new("Write one")
    world.ostler("run", first)
    gates = {"OSTLER_GATES__PHASES": '{"implement": "human"}'}
    second = world.ostler("new", "Write two", "--after", first, **gates).stdout.strip()
    world.ostler("run", second, code=4, **gates)
    assert world.show(second)["status"] == "needs_review"
    return first, second


@pytest.mark.full
def test_a_successor_waits_for_a_rewound_predecessor_and_is_rebased(world: World) -> None:
    """Blocked with DEPENDENCY_FAILED, then rebased onto the new work without another call."""
    first, second = start_second(world)
    world.ostler("rewind", first, "--to", "implement", "-m", "Again")
    world.ostler("approve", second)
    world.ostler("run", second, code=2)
    world.behave(edits={}, when=[FIRST | {"edits": {"new.txt": "new"}}])
    assert "was reopened" in blocked_message(world, second)
    world.ostler("run", "--all")
    shown, before = world.show(second), world.show(first)
    assert (shown["status"], before["status"]) == ("completed", "completed")
    assert shown["base"] == before["commit"]
    assert files(world, shown["commit"]) == {"README.md", "new.txt", "two.txt"}
    assert shown["builds_on"][0]["commit"] == before["commit"]


def blocked_message(world: World, task: str) -> str:
    """Let a run that starts no agent read the list; return why the task is blocked."""
    world.ostler("pause", world.show(task)["after"][0])
    world.ostler("run", "--all", code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "DEPENDENCY_FAILED")
    world.ostler("resume", shown["after"][0])
    return shown["message"]


@pytest.mark.full
def test_a_conflict_with_the_new_work_needs_a_person(world: World) -> None:
    """MERGE_CONFLICT names the file; an agent can resolve it after `resume -m`."""
    first, second = start_second(world)
    world.ostler("rewind", first, "--to", "implement")
    world.behave(edits={}, when=[FIRST | {"files": {"two.txt": "mine\n"}}])
    world.ostler("run", first)
    world.ostler("approve", second)
    world.ostler("run", "--all", code=4)
    shown = world.show(second)
    assert (shown["status"], shown["code"]) == ("blocked", "MERGE_CONFLICT")
    assert "two.txt" in shown["message"] and first in shown["message"]
    world.behave(edits={}, files={"two.txt": "both\n"})
    world.ostler("resume", second, "-m", "Keep both")
    world.ostler("run", second, code=4)
    world.ostler("approve", second)
    world.ostler("run", second)
    shown = world.show(second)
    assert (shown["status"], shown["base"]) == ("completed", world.show(first)["commit"])
    assert world.git("show", f"{shown['commit']}:two.txt") == "both\n"


@pytest.mark.full
def test_a_running_successor_is_stopped_when_its_predecessor_is_rewound(world: World) -> None:
    """The run blocks it at once, keeps its work, and continues it after the predecessor."""
    first = world.new("Write one")
    world.ostler("run", first)
    second = world.new("Write two", "--after", first)
    world.behave(edits={}, when=[SECOND | {"delay_seconds": 60}])
    child = world.start("run", second)
    wait_until(lambda: len(world.started()) == 2, 30, "the second task does not start")
    world.ostler("rewind", first, "--to", "implement")
    child.wait(30)
    assert world.show(second)["code"] == "DEPENDENCY_FAILED"
    world.behave(edits={}, when=[FIRST | {"edits": {"new.txt": "new"}}, SECOND])
    world.ostler("run", "--all")
    assert files(world, world.show(second)["commit"]) == {"README.md", "new.txt", "two.txt"}
