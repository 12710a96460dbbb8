"""Accepting over HTTP: many tasks at once, verdicts, conflicts, undo, and how to get the files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from web_world import Served, serve
from world import World, wait_until

FIRST = {"contains": "Write one", "edits": {"one.txt": "one"}}
SECOND = {"contains": "Write two", "edits": {"two.txt": "two"}}


@pytest.fixture
def world(tmp_path: Path) -> Any:
    made = World(tmp_path, edits={}, when=[FIRST, SECOND])
    made.environ["OSTLER_GATES__COMMANDS"] = '{"implement": "test -e README.md"}'
    yield made
    made.close()


def reach(server: Served, task: str, status: str) -> Any:
    """Wait until the task has this status and no open request, and return it."""

    def is_there() -> bool:
        shown = server.get(f"/tasks/{task}")
        return shown["status"] == status and not shown["requested"]

    wait_until(is_there, 60, f"{task} is never {status}")
    return server.get(f"/tasks/{task}")


def accept(server: Served, how: str, *tasks: str) -> list[tuple[str, str]]:
    lines = server.post("/tasks/accept", {"tasks": tasks, "how": how})["tasks"]
    return [(line["id"], line["result"]) for line in lines]


@pytest.mark.full
def test_many_tasks_are_merged_once_and_in_order(world: World) -> None:
    """The predecessor is added and comes first; a refused task stops no other; a repetition does nothing."""
    first = world.new("Write one")
    second = world.new("Write two", "--after", first)
    world.ostler("run", "--all")
    paused = world.new("Another")
    world.ostler("pause", paused)
    server = serve(world)
    shown = server.get(f"/tasks/{second}")
    assert shown["verdicts"]["text"].startswith(f"implement: pass on {shown['commit'][:10]}")
    assert [(one["action"], one["label"], one["allowed"]) for one in shown["accept"]] == [
        ("merge", "Merge into main", True),
        ("publish", "Open a pull request", True),
        ("rebase", "Rebase onto main", True),
    ]
    assert accept(server, "merge", paused, second) == [
        (paused, "refused"),
        (first, "requested"),
        (second, "requested"),
    ]
    merged = [reach(server, task, "completed") for task in (first, second)]
    assert [one["published_into"] for one in merged] == ["main", "main"]
    assert world.git("show", "main:two.txt") and world.git("show", "main:one.txt")
    requests = [one for one in world.events() if one["type"] == "task_reopened"]
    assert accept(server, "merge", second, first) == [(first, "already merged"), (second, "already merged")]
    assert [one for one in world.events() if one["type"] == "task_reopened"] == requests


@pytest.mark.full
def test_work_that_waits_is_approved_and_merged_by_one_request(world: World) -> None:
    """Its gate is approved and the merge requested; a gate that did not pass needs its own decision."""
    world.environ["OSTLER_GATES__PHASES"] = '{"implement": "human"}'
    waits, failed = world.new("Write one"), world.new("Write two")
    world.ostler("run", "--all", code=4)
    server = serve(world)
    assert accept(server, "merge", waits) == [(waits, "requested")]
    assert reach(server, waits, "completed")["published_into"] == "main"
    assert accept(server, "approve", waits, failed) == [(waits, "already approved"), (failed, "requested")]
    reach(server, failed, "completed")


def test_a_rebase_approves_nothing(world: World) -> None:
    """Work that waits for a review would be merged as planned, though only a rebase was asked for."""
    world.environ["OSTLER_GATES__PHASES"] = '{"implement": "human"}'
    world.environ["OSTLER_GIT__ON_COMPLETE"] = "merge"
    task = world.new("Write one")
    world.ostler("run", task, code=4)
    server = serve(world, "--view-only")
    assert accept(server, "rebase", task) == [(task, "refused")]
    assert server.get(f"/tasks/{task}")["status"] == "needs_review"


@pytest.mark.full
def test_a_task_whose_commits_are_gone_stops_no_other(world: World) -> None:
    """Git cannot tell what became of it: it is refused with the reason, and the others are requested."""
    gone, merged = world.new("Write one"), world.new("Write two")
    world.ostler("run", "--all")
    for ref in world.git("for-each-ref", "--format=%(refname)").split():
        if gone in ref:
            world.git("update-ref", "-d", ref)
    world.git("-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now", "gc", "-q", "--prune=now")
    server = serve(world, "--view-only")
    assert accept(server, "merge", gone, merged) == [(gone, "refused"), (merged, "requested")]


def test_a_decision_is_taken_back_while_nothing_runs(world: World) -> None:
    """A server that runs no tasks records it; `can_undo` is true while it can be taken back, once."""
    task = world.new("Write one")
    world.ostler("run", task)
    server = serve(world, "--view-only")
    answer = server.post("/tasks/accept", {"tasks": [task], "how": "merge"})
    assert answer["next"] == f"ostler run {task}"
    assert accept(server, "merge", task) == [(task, "already requested")]
    shown = server.get(f"/tasks/{task}")
    assert (shown["status"], shown["requested"], shown["can_undo"]) == ("pending", "merge", True)
    undone = server.post(f"/tasks/{task}/undo")
    assert (undone["status"], undone["requested"], undone["can_undo"]) == ("completed", None, False)
    refused = server.post(f"/tasks/{task}/undo", status=409)
    assert "there is no decision that can be taken back" in refused["message"]


def test_a_conflict_lists_its_files_and_both_ways(world: World) -> None:
    """`resume` with the proposed text sends it to the agent; a person follows the commands."""
    task = world.new("Write one")
    world.ostler("run", task)
    Path(world.root, "one.txt").write_text("by a person\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "theirs")
    world.ostler("rebase", task, code=4)
    server = serve(world, "--view-only")
    conflict = server.get(f"/tasks/{task}")["conflict"]
    assert (conflict["files"], conflict["target"]) == (["one.txt"], "main")
    assert conflict["agent"] == "Resolve the conflict with main in one.txt."
    assert conflict["person"][1] == f"git merge {world.git('rev-parse', 'main').strip()}"
    assert conflict["person"][-1] == f"ostler resume {task}"
    printed = world.ostler("show", task).stdout
    assert "conflict" in printed and all(one in printed for one in conflict["person"])
    resumed = server.post(f"/tasks/{task}/resume", {"text": conflict["agent"]})
    assert (resumed["status"], resumed["conflict"]) == ("pending", None)


def test_the_command_checks_the_work_out(world: World) -> None:
    """As a branch, from the kept commit when the branch is gone, and detached from a kept worktree."""
    task = world.new("Write one")
    world.ostler("run", task)
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/checkout")
    assert (shown["command"], shown["worktree"]) == (f"git switch ostler/{task}", None)
    assert shown["editor_links"] == [] and "not on this machine" in shown["reason"]
    world.git("branch", "-q", "-D", f"ostler/{task}")
    again = server.get(f"/tasks/{task}/checkout")["command"]
    subprocess.run(again, shell=True, check=True, cwd=world.root, capture_output=True)
    assert world.git("rev-parse", "HEAD").strip() == server.get(f"/tasks/{task}")["commit"]


@pytest.mark.full
def test_a_worktree_has_links_for_an_editor(world: World) -> None:
    """Of the worktree and of its files; a path that leaves it is refused."""
    world.environ["OSTLER_GATES__PHASES"] = '{"implement": "human"}'
    task = world.new("Write one")
    world.ostler("run", task, code=4)
    server = serve(world, "--view-only")
    shown = server.get(f"/tasks/{task}/checkout?path=one.txt&line=3")
    place = Path(shown["worktree"])
    assert shown["editor_links"] == [{"name": "vscode", "url": f"vscode://file{place}/one.txt:3"}]
    subprocess.run(shown["command"], shell=True, check=True, cwd=world.root, capture_output=True)
    Path(place, "leads").symlink_to("/etc/passwd")
    for path in ("../../ostler.toml", "/etc/passwd", "leads", "nothing.txt", ".git"):
        server.get(f"/tasks/{task}/checkout?path={path}", status=400)
