"""Tasks from files and from stdin, on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostler.sources.task_file import read_task
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
def task_file(world: World) -> Path:
    task_file = world.root / "gate.md"
    task_file.write_text(FILE)
    return task_file


def task_md(world: World, task: str) -> str:
    return (world.root / ".ostler" / "tasks" / task / "task.md").read_text()


def test_front_matter_is_the_task(world: World, task_file: Path) -> None:
    """Keys and text are used; unused keys are reported with their line."""
    done = world.ostler("new", "-f", str(task_file))
    task = read_task(task_md(world, done.stdout.strip()), "task.md")
    assert (task.title, task.body) == ("Mend the gate", "# Why\n\nIt squeaks.")
    assert (task.priority, task.weight, task.tags) == ("P1", "trivial", ("gate",))
    assert f"{task_file}:5: createdAt is not used" in done.stderr


def test_options_override_the_file(world: World, task_file: Path) -> None:
    """Options override the file; the rest comes from the file."""
    found = world.ostler(
        "new", "Oil the gate", "-f", str(task_file), "--priority", "P2", "--after", world.new()
    )
    task = read_task(task_md(world, found.stdout.strip()), "task.md")
    assert (task.title, task.priority, task.weight, len(task.after)) == ("Oil the gate", "P2", "trivial", 1)


def test_a_task_file_of_ostler_creates_a_new_task(world: World) -> None:
    """The task.md of one task creates another task with the same text, also through stdin."""
    first = world.new("Greet", "-d", "---\nSay: hello\n---", "--weight", "trivial")
    second = world.ostler("new", "-f", "-", stdin=task_md(world, first)).stdout.strip()
    assert second != first
    assert task_md(world, second) == task_md(world, first).replace(first, second)


def test_run_takes_the_same_files(world: World, task_file: Path) -> None:
    """`ostler run -f` plans the task that `ostler new -f` would create."""
    plan = world.ostler("run", "-f", str(task_file), "--dry-run", "--json").stdout
    assert json.loads(plan)
    assert "Mend the gate" in plan


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"---\ntitel: x\n---\n", ":2: unknown key 'titel'; did you mean title?"),
        (b"---\ntitle: x\ntitle: y\n---\n", ":3: 'title' is given twice"),
        (b"---\ntitle: x\n", ":1: the front matter that begins here is not closed"),
        (b"---\ntitle: x\nbudget: -1\n---\n", "invalid --budget-usd -1"),
        (b"---\ntitle: x\nrole: nobody\n---\n", 'unknown role "nobody"'),
        (b"---\ntitle: x\nexecutor: nobody\n---\n", "nobody"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"", "has no first line to use as the title"),
    ],
)
def test_a_file_with_mistakes_makes_no_task(
    world: World, task_file: Path, content: bytes, message: str
) -> None:
    """One error with file and line, exit 2, and nothing is written."""
    task_file.write_bytes(content)
    done = world.ostler("new", "-f", str(task_file), code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not [*world.root.glob(".ostler/tasks/*")]


def test_a_pipe_or_a_directory_is_no_task(world: World) -> None:
    """A path that would block or cannot be read is refused at once."""
    os.mkfifo(world.root / "pipe")
    for name in ("pipe", ".", "gone.md"):
        assert world.ostler("new", "-f", str(world.root / name), code=2).stderr
