"""Accepted work that conflicts: an agent resolves it, gates check the result, and others are merged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from review_world import comment, send
from workflow_world import RIGHT, SETTINGS, WorkflowWorld
from world import World

pytestmark = pytest.mark.full

THEIRS = "def add(*numbers):\n    return 0\n"
BOTH = "def add(*numbers):\n    return sum(numbers)\n"
WRONG = "def add(*numbers):\n    return len(numbers)\n"
LINE = {"path": "calc.py", "side": "new", "line": 1, "end_line": 1}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WorkflowWorld]:
    """The agent repairs the sum; asked to resolve a conflict it is wrong at first, and then right."""
    answers = [
        {"contains": "This phase: test", "files": {}},
        {"contains": "2 != 7", "files": {"calc.py": BOTH}},
        {"contains": "esolve the conflict", "files": {"calc.py": WRONG}},
    ]
    settings = SETTINGS.replace('"pr"', '"none"')
    made = WorkflowWorld(tmp_path, settings, when=answers, files={"calc.py": RIGHT})
    yield made
    made.close()


def change_main(world: World, **files: str) -> str:
    for name, text in files.items():
        Path(world.root, name.replace("_", ".")).write_text(text)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "theirs")
    return world.git("rev-parse", "main").strip()


def run_into_conflict(world: WorkflowWorld, how: str) -> tuple[str, str]:
    """Return a completed task whose acceptance failed, and the commit that it conflicts with."""
    task = world.new("Mend the sum")
    world.ostler("run", task)
    tip = change_main(world, calc_py=THEIRS)
    (line,) = world.json(how, task, code=4)["tasks"]
    assert (line["result"], world.show(task)["code"]) == ("needs you", "MERGE_CONFLICT")
    return task, tip


def check_resolved(world: WorkflowWorld, task: str, tip: str) -> None:
    """The gates rejected the first resolution and passed the second one, which has both sides."""
    shown = world.show(task)
    assert (shown["status"], shown["conflict"], world.read(task)) == ("completed", None, BOTH)
    assert world.git("merge-base", tip, shown["commit"]).strip() == tip
    verdicts = [one["verdict"] for one in world.events(task) if one["type"] == "gate_decided"]
    assert verdicts[-1] == "pass" and "fail" in verdicts
    assert shown["phases"][1]["gate"]["sha"] == shown["commit"]


@pytest.mark.parametrize("how", ["merge", "rebase"])
def test_an_agent_resolves_the_conflict(world: WorkflowWorld, how: str) -> None:
    """With the proposed text; the request is carried out after the gates have checked the result."""
    task, tip = run_into_conflict(world, how)
    conflict = world.show(task)["conflict"]
    assert conflict["commit"] == tip and conflict["files"] == ["calc.py"]
    world.ostler("resume", task, "-m", conflict["agent"])
    world.ostler("run", task)
    check_resolved(world, task, tip)
    asked = [one for one in world.received_prompts() if "both changed the files below" in one]
    assert asked and "calc.py" in asked[0]
    for prompt in asked:
        is_later = "This phase: test" in prompt
        assert ("implement has repeated its work since" in prompt) is is_later
        assert ("the work is back in implement" in prompt) is not is_later
    merged = world.git("rev-parse", "main").strip()
    assert merged == (world.show(task)["commit"] if how == "merge" else tip)
    assert world.show(task)["published_into"] == ("main" if how == "merge" else None)


def test_a_review_of_work_that_conflicts(world: WorkflowWorld) -> None:
    """Sent back from its page, the agent gets the conflict and the comments in one prompt."""
    task, tip = run_into_conflict(world, "merge")
    comment(world, task, "c1", place=LINE, text="Any number of them, please.")
    send(world, task, text="Resolve the conflict.")
    world.ostler("run", task)
    check_resolved(world, task, tip)
    having = [one for one in world.received_prompts() if "Any number of them, please." in one]
    (asked,) = [one for one in having if '{"replies": [' in one]
    assert "both changed the files below" in asked and "### 1. Change: calc.py, line 1" in asked
    assert world.git("rev-parse", "main").strip() == world.show(task)["commit"]


def test_a_person_resolves_the_conflict(world: WorkflowWorld) -> None:
    """With the commands that are shown; no agent runs, and the gates check the commit."""
    task, tip = run_into_conflict(world, "merge")
    calls = len(world.started())
    place, merge, commit, _ = world.show(task)["conflict"]["person"]
    identity = "git config user.name Ada && git config user.email ada@example.org"
    script = f"{place} && {identity}; {merge}; printf '%s' '{BOTH}' > calc.py && {commit} -m both"
    subprocess.run(script, shell=True, check=True, cwd=world.root, capture_output=True)
    world.ostler("resume", task)
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["published_into"], len(world.started())) == ("completed", "main", calls)
    assert world.read(task) == BOTH and shown["phases"][1]["gate"]["sha"] == shown["commit"]
    assert world.git("merge-base", tip, "main").strip() == tip


def complete_five(world: World) -> list[str]:
    tasks = [world.new(f"Write {number}") for number in range(5)]
    world.ostler("run", "--all")
    return tasks


def test_one_conflict_among_five(tmp_path: Path) -> None:
    """Four are merged; the conflict is named with its task, and is resolved later without the others."""
    writes: list[Any] = [
        {"contains": "esolve the conflict", "files": {"2.txt": "both\n"}},
        *({"contains": f"Write {number}", "edits": {f"{number}.txt": "mine"}} for number in range(5)),
    ]
    world = World(tmp_path, edits={}, when=writes)
    tasks = complete_five(world)
    Path(world.root, "2.txt").write_text("theirs\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "theirs")
    done = world.ostler("merge", *tasks, "--json", code=4)
    lines = {one["id"]: one for one in json.loads(done.stdout)["tasks"]}
    expected = ["merged", "merged", "needs you", "merged", "merged"]
    assert [lines[task]["result"] for task in tasks] == expected
    assert "2.txt" in lines[tasks[2]]["message"]
    assert world.git("ls-tree", "--name-only", "main").split() == [
        "0.txt",
        "1.txt",
        "2.txt",
        "3.txt",
        "4.txt",
        "README.md",
    ]
    assert world.git("show", "main:2.txt") == "theirs\n"
    again = world.json("merge", *tasks, code=2)["tasks"]
    assert [one["result"] for one in again] == ["already merged"] * 2 + ["refused"] + ["already merged"] * 2
    world.ostler("resume", tasks[2], "-m", world.show(tasks[2])["conflict"]["agent"])
    world.ostler("run", tasks[2])
    assert world.git("show", "main:2.txt") == "both\n"
    assert world.show(tasks[2])["published_into"] == "main"
    world.close()
