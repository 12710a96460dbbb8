"""kill -9 where tasks build on each other: no commit is lost or applied twice, the checkout is unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from world import World, wait_until

ONE = {"contains": "Write one", "edits": {"one.txt": "one"}}
TWO = {"contains": "Write two", "edits": {"two.txt": "two"}}
THREE = {"contains": "Write three", "edits": {"three.txt": "three"}}
ALL = {"README.md", "one.txt", "two.txt", "three.txt"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, edits={}, when=[ONE, TWO, THREE])


def files(world: World, commit: str) -> set[str]:
    return set(world.git("ls-tree", "-r", "--name-only", commit).split())


def close(world: World) -> None:
    wait_until(lambda: not world.survivors(), 20, "processes are left")
    world.check_store()
    world.close()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["base.built:kill:1", "journal.append:kill:2", "journal.appended:kill:2"])
def test_a_kill_while_the_base_is_merged(world: World, place: str) -> None:
    """The next run finds or creates the same merge of both predecessors, and completes the task."""
    one, two = world.new("Write one"), world.new("Write two")
    world.ostler("run", "--all")
    three = world.new("Write three", "--after", one, "--after", two)
    assert world.ostler("run", three, code=None, OSTLER_FAILPOINT=place).returncode == -9
    world.ostler("run", three)
    shown = world.show(three)
    assert files(world, shown["commit"]) == ALL
    assert world.git("rev-list", "--count", "--merges", shown["commit"]).strip() == "1"
    close(world)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["base.moved", "publish.files"])
def test_a_kill_while_the_branch_follows_its_predecessor(world: World, place: str) -> None:
    """The next run completes the rebase; each change is in the result once."""
    one = world.new("Write one")
    world.ostler("run", one)
    gates = {"OSTLER_GATES__PHASES": '{"implement": "human"}'}
    three = world.ostler("new", "Write three", "--after", one, **gates).stdout.strip()
    world.ostler("run", three, code=4)
    world.ostler("rewind", one, "--to", "implement")
    world.behave(edits={}, when=[ONE | {"edits": {"new.txt": "new"}}])
    world.ostler("run", one)
    world.ostler("approve", three)
    assert world.ostler("run", three, code=None, OSTLER_FAILPOINT=f"{place}:kill").returncode == -9
    world.ostler("run", three)
    shown = world.show(three)
    assert (shown["status"], shown["base"]) == ("completed", world.show(one)["commit"])
    assert files(world, shown["commit"]) == {"README.md", "new.txt", "three.txt"}
    close(world)


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["publish.files", "publish.rebased", "merge.checked", "publish.merged"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_while_tasks_are_merged(world: World, place: str, number: int) -> None:
    """The same command again ends with each task in the target once, and a clean checkout."""
    one = world.new("Write one")
    two = world.new("Write two", "--after", one)
    world.ostler("run", "--all")
    Path(world.root, "three.txt").write_text("by a person\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "moved")
    code = world.ostler("merge", two, code=None, OSTLER_FAILPOINT=f"{place}:kill:{number}").returncode
    assert code in (-9, 0) and (code == -9 or number == 2)
    world.ostler("run", "--all")
    world.ostler("merge", two)
    assert files(world, "main") == ALL and not world.git("status", "--porcelain")
    log = world.git("log", "--format=%s", "main").splitlines()
    assert len(log) == 4 and len(set(log)) == 4
    assert len(world.started()) == 2
    close(world)
