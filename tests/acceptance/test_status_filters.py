"""The list of tasks: filters, pages and order; and the views that only the dashboard had."""

from __future__ import annotations

import json

import pytest

from ostler.model.task import Task
from ostler.project.project import Project
from world import World


@pytest.fixture
def many(world: World) -> World:
    """Sixty tasks: two need a person, one is cancelled."""
    world.new("First")
    with Project.open(world.root, {}) as project, project.journal.transaction():
        added = [
            project.add(Task(f"Task {n}", priority="P0" if n < 2 else "P2", tags=("x",) if n < 3 else ()))
            for n in range(59)
        ]
        for task in added[-2:]:
            project.act(task.id, "pause")
    world.ostler("cancel", added[0].id)
    return world


def ids(world: World, *args: str) -> list[str]:
    return [task["title"] for task in world.json("status", *args)["tasks"]]


def test_filters_select_tasks(many: World) -> None:
    """Flags and statuses add up; the other filters narrow the list."""
    assert ids(many, "--needs-you") == ["Task 57", "Task 58"] == ids(many, "--status", "paused")
    assert ids(many, "--status", "cancelled", "--needs-you") == ["Task 0", "Task 57", "Task 58"]
    assert ids(many, "--running") == ids(many, "--failed") == ids(many, "--since", "2100-01-01") == []
    assert ids(many, "--priority", "P0") == ["Task 0", "Task 1"] == ids(many, "--priority", "high")
    assert ids(many, "--priority", "background") == []
    assert ids(many, "--tag", "x", "--status", "created") == ["Task 1", "Task 2"]
    assert ids(many, "task 5", "--since", "1h")[:2] == ["Task 5", "Task 50"]
    assert len(ids(many)) == 60


def test_what_needs_a_person_comes_first(many: World) -> None:
    """Then waiting tasks, and ended ones last."""
    lines = many.ostler("status").stdout.splitlines()
    assert [line.split()[1] for line in (lines[1], lines[2], lines[3], lines[60])] == [
        "paused",
        "paused",
        "pending",
        "cancelled",
    ]


def test_pages_have_the_command_of_the_next_one(many: World) -> None:
    """With the same filters; JSON has all tasks unless a page is asked for."""
    done = many.ostler("status", "Task", "--limit", "20", "--page", "2")
    assert len(done.stdout.split("\n\n")[0].splitlines()) == 21 and "59 of 60 tasks" in done.stdout
    assert "Page 2 of 3.  Next: ostler status Task --limit 20 --page 3" in done.stderr
    page = many.json("status", "--page", "2")
    assert (len(page["tasks"]), page["total"], page["page"], page["pages"]) == (10, 60, 2, 2)


@pytest.mark.parametrize(
    "bad",
    [
        ("--status", "complted"),
        ("--since", "soon"),
        ("--page", "9", "--limit", "60"),
        ("--page", "0"),
        ("--limit", "-1"),
        ("--all", "--page", "1"),
        ("--priority", "P9"),
    ],
)
def test_a_wrong_filter_is_exit_2(world: World, bad: tuple[str, ...]) -> None:
    """With one sentence, also as JSON."""
    assert world.ostler("status", *bad, code=2).stderr.startswith("ostler: ")
    assert json.loads(world.ostler("status", *bad, "--json", code=2).stdout)["code"] == "USAGE"


def test_files_timeline_and_machine_have_commands(world: World) -> None:
    """X13: with JSON of the same schema as the API; no path leaves the task's directory."""
    task = world.new("Paint")
    world.ostler("run", task)
    files = [file["path"] for file in world.json("show", task, "--files")["files"]]
    assert {"task.md", "prompts/implement-001.md", "transcripts/implement-001.jsonl"} <= {*files}
    assert "Paint" in world.ostler("show", task, "--file", "prompts/implement-001.md").stdout
    assert world.json("show", task, "--file", "task.md")["text"].startswith("---\ntitle")
    for path in ("../../ostler.db", "/etc/passwd", "prompts", "nope.md"):
        world.ostler("show", task, "--file", path, code=2)
    kinds = {span["kind"] for span in world.json("show", task, "--timeline")["spans"]}
    assert {"phase", "attempt", "tool"} <= kinds
    assert "attempt" in world.ostler("show", task, "--timeline").stdout
    machine = world.json("machine")
    assert machine["schema"] == "ostler.machine/1" and machine["attempts"] == []
    assert "No attempt is running." in world.ostler("machine").stdout
    world.ostler("show", task, "--files", "--timeline", code=2)
