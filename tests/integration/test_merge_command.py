"""`ostler merge` merges completed tasks in order, and asks their gates on the merged commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from world import World

FIRST = {"contains": "Write one", "edits": {"one.txt": "one"}}
SECOND = {"contains": "Write two", "edits": {"two.txt": "two"}}
GATE = "test ! -e broken.txt && test -e README.md"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, edits={}, when=[FIRST, SECOND])
    made.environ["OSTLER_GATES__COMMANDS"] = json.dumps({"implement": GATE})
    yield made
    made.close()


def run_two(world: World) -> tuple[str, str]:
    """Complete two tasks, the second on top of the first."""
    first = world.new("Write one")
    second = world.new("Write two", "--after", first)
    world.ostler("run", "--all")
    return first, second


def commit_on_main(world: World, name: str) -> None:
    Path(world.root, name).write_text("by a person\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", name)


def merge(world: World, *tasks: str, code: int = 0, **environ: str) -> list[tuple[str, str]]:
    lines: list[dict[str, Any]] = world.json("merge", *tasks, code=code, **environ)["tasks"]
    return [(line["id"], line["result"]) for line in lines]


@pytest.mark.full
def test_tasks_are_merged_in_order(world: World) -> None:
    """The predecessor is merged first even if only the successor is named; the checkout has both files."""
    first, second = run_two(world)
    assert merge(world, second) == [(first, "merged"), (second, "merged")]
    assert Path(world.root, "one.txt").exists() and Path(world.root, "two.txt").exists()
    assert not world.git("status", "--porcelain")
    assert world.show(first)["status"] == world.show(second)["status"] == "completed"
    assert "merged into main" in world.ostler("show", second).stdout
    assert merge(world, first, second) == [(first, "already merged"), (second, "already merged")]
    assert len(world.started()) == 2


@pytest.mark.full
def test_gates_are_asked_on_the_merged_commit(world: World) -> None:
    """When the target moved, the gate checks the rebased commit; the table shows its verdict."""
    first, second = run_two(world)
    commit_on_main(world, "more.txt")
    shown = world.ostler("merge", first, second).stdout
    assert shown.count("implement: pass") == 2
    head = world.git("rev-parse", "HEAD").strip()
    gate = world.show(second)["phases"][0]["gate"]
    assert (gate["sha"], gate["verdict"]) == (head, "pass")
    assert "one.txt" not in world.json("diff", second)["patch"]


@pytest.mark.full
def test_a_gate_that_fails_on_the_merged_commit_stops_the_merge(world: World) -> None:
    """The target stays, no agent runs, and what builds on the task is not merged."""
    first, second = run_two(world)
    commit_on_main(world, "broken.txt")
    head = world.git("rev-parse", "main")
    assert merge(world, second, code=4) == [(first, "needs you"), (second, "not merged")]
    assert world.git("rev-parse", "main") == head
    shown = world.show(first)
    assert (shown["status"], shown["code"]) == ("blocked", "GATE_REJECTED")
    assert len(world.started()) == 2


def test_a_conflict_is_shown_with_its_files(world: World) -> None:
    """MERGE_CONFLICT blocks the task; the target and the branch stay."""
    task = world.new("Write one")
    world.ostler("run", task)
    commit_on_main(world, "one.txt")
    assert merge(world, task, code=4) == [(task, "needs you")]
    assert world.show(task)["code"] == "MERGE_CONFLICT" and "one.txt" in world.show(task)["message"]


def test_a_deleted_branch_is_restored(world: World) -> None:
    """The recorded commit is merged although the branch is gone."""
    task = world.new("Write one")
    world.ostler("run", task)
    world.git("branch", "-q", "-D", f"ostler/{task}")
    assert merge(world, task) == [(task, "merged")]
    assert Path(world.root, "one.txt").exists()


def test_a_dirty_checkout_shows_the_command(world: World) -> None:
    """The task waits with the command to type; the merge is recognised afterwards."""
    task = world.new("Write one")
    world.ostler("run", task)
    Path(world.root, "README.md").write_text("changed\n")
    shown = world.ostler("merge", task, code=4)
    assert "needs you" in shown.stdout
    world.git("merge", "-q", f"ostler/{task}")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"


def test_only_completed_tasks_are_merged(world: World) -> None:
    """A pending task is refused, alone as a usage error; it does not stop the others."""
    done, pending = world.new("Write one"), world.new("Write two")
    world.ostler("run", done)
    head = world.git("rev-parse", "main")
    refused = world.ostler("merge", pending, code=2).stderr
    assert f"{pending} is pending: only a completed task can be merged" in refused
    assert world.git("rev-parse", "main") == head
    assert merge(world, pending, done, code=2) == [(pending, "refused"), (done, "merged")]


@pytest.mark.full
def test_a_squash_merged_predecessor_is_not_applied_twice(world: World) -> None:
    """After a person squash-merged the first task, only the second one's changes are merged."""
    first, second = run_two(world)
    world.git("merge", "-q", "--squash", f"ostler/{first}")
    world.git("commit", "-q", "-m", "squashed")
    assert merge(world, second) == [(first, "already merged"), (second, "merged")]
    log = world.git("log", "--format=%s", "main").splitlines()
    assert len(log) == 3 and log[1] == "squashed"


@pytest.mark.full
def test_a_rewound_task_is_not_reported_as_merged(world: World) -> None:
    """Its earlier work was merged; the record is about the new work."""
    task = world.new("Write one")
    world.ostler("run", task)
    merge(world, task)
    world.ostler("rewind", task, "--to", "implement")
    assert world.show(task)["published_into"] is None
    world.ostler("run", task)
    assert world.show(task)["published_into"] is None


@pytest.mark.full
def test_a_blocked_merge_ends_with_a_rewind(world: World) -> None:
    """After the rewind the task ends as planned: its branch is kept."""
    task = world.new("Write one")
    world.ostler("run", task)
    merge(world, task, code=4, OSTLER_GATES__PHASES='{"merge": "human"}')
    head = world.git("rev-parse", "main")
    world.ostler("rewind", task, "--to", "implement")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert world.git("rev-parse", "main") == head


@pytest.mark.full
def test_a_task_that_waited_for_a_clean_checkout_is_merged(world: World) -> None:
    """While the checkout has changes, the task waits again; then the same command merges it."""
    task = world.new("Write one")
    world.ostler("run", task)
    Path(world.root, "README.md").write_text("changed\n")
    assert merge(world, task, code=4) == merge(world, task, code=4) == [(task, "needs you")]
    world.git("checkout", "-q", "--", "README.md")
    assert merge(world, task) == [(task, "merged")]
    assert world.git("rev-parse", "main").strip() == world.show(task)["commit"]


@pytest.mark.full
def test_a_cancelled_merge_leaves_the_task_completed(world: World) -> None:
    """The rebased commit and the verdict about it are dropped; the branch has the completed work."""
    task = world.new("Write one")
    world.ostler("run", task)
    before = world.show(task)
    commit_on_main(world, "broken.txt")
    merge(world, task, code=4)
    assert world.show(task)["phases"][0]["gate"]["verdict"] == "fail"
    done = world.ostler("cancel", task, "--reason", "later")
    assert "is completed as before; its merge is cancelled." in done.stderr
    after = world.show(task)
    assert [after[key] for key in ("status", "code", "commit", "base", "phases")] == [
        before[key] for key in ("status", "code", "commit", "base", "phases")
    ]
    assert world.git("rev-parse", f"ostler/{task}").strip() == before["commit"]
    assert after["message"].startswith("the request to publish it was cancelled")
    Path(world.root, "broken.txt").unlink()
    world.git("commit", "-qam", "repair")
    assert merge(world, task) == [(task, "merged")]
