"""Tasks from files and from stdin, as a person gives them on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostler.prompt.task_file import read_task
from world import World

FILE = """---
goal: Mend the gate
priority: P1
weight: trivial
createdAt: 2026-01-01
tags: [gate]
---

# Why

It squeaks.
"""


@pytest.fixture
def paper(world: World) -> Path:
    paper = world.root / "gate.md"
    paper.write_text(FILE)
    return paper


def task_md(world: World, task: str) -> str:
    return (world.root / ".ostler" / "tasks" / task / "task.md").read_text()


def test_front_matter_is_the_task(world: World, paper: Path) -> None:
    """Its keys and its text are taken, and what is of no use is said with its line."""
    done = world.ostler("new", "-f", str(paper))
    task = read_task(task_md(world, done.stdout.strip()), "task.md")
    assert (task.title, task.body) == ("Mend the gate", "# Why\n\nIt squeaks.")
    assert (task.priority, task.weight, task.tags) == ("P1", "trivial", ("gate",))
    assert f"{paper}:5: createdAt is not used" in done.stderr


def test_options_win_over_the_file(world: World, paper: Path) -> None:
    """What is said on the command line counts; the rest stays as the file says."""
    found = world.ostler("new", "Oil the gate", "-f", str(paper), "--priority", "P2", "--after", world.new())
    task = read_task(task_md(world, found.stdout.strip()), "task.md")
    assert (task.title, task.priority, task.weight, len(task.after)) == ("Oil the gate", "P2", "trivial", 1)


def test_a_task_of_ours_is_given_again_as_a_new_one(world: World) -> None:
    """The task.md of one task makes another task with the same words, through stdin as well."""
    first = world.new("Greet", "-d", "---\nSay: hello\n---", "--weight", "trivial")
    second = world.ostler("new", "-f", "-", stdin=task_md(world, first)).stdout.strip()
    assert second != first
    assert task_md(world, second) == task_md(world, first).replace(first, second)


def test_run_takes_the_same_files(world: World, paper: Path) -> None:
    """`ostler run -f` plans the task that `ostler new -f` would make."""
    plan = world.ostler("run", "-f", str(paper), "--dry-run", "--json").stdout
    assert json.loads(plan)
    assert "Mend the gate" in plan


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"---\ntitel: x\n---\n", ":2: unknown key 'titel'; did you mean title?"),
        (b"---\ntitle: x\ntitle: y\n---\n", ":3: 'title' is given twice"),
        (b"---\ntitle: x\n", ":1: the front matter that begins here is not closed"),
        (b"---\ntitle: x\nbudget: -1\n---\n", "a budget is more than 0"),
        (b"---\ntitle: x\nrole: nobody\n---\n", "unknown role: nobody"),
        (b"---\ntitle: x\nexecutor: nobody\n---\n", "nobody"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"", "has no first line to take the title from"),
    ],
)
def test_a_file_with_mistakes_makes_no_task(world: World, paper: Path, content: bytes, told: str) -> None:
    """One clear sentence with file and line, the exit code of a usage error, and nothing written."""
    paper.write_bytes(content)
    done = world.ostler("new", "-f", str(paper), code=2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not [*world.root.glob(".ostler/tasks/*")]


def test_a_pipe_or_a_directory_is_no_task(world: World) -> None:
    """What would hang or cannot be read is refused at once."""
    os.mkfifo(world.root / "pipe")
    for name in ("pipe", ".", "gone.md"):
        assert world.ostler("new", "-f", str(world.root / name), code=2).stderr
