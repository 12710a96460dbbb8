"""The list of tasks: filters, pages and order; and the views that only the dashboard had."""

from __future__ import annotations

import json
import sys

import pytest

from ostler.model.task import Task
from ostler.project.project import Project
from person import Person
from world import World


@pytest.fixture
def many(world: World) -> World:
    """Sixty tasks: two need a person, one is cancelled."""
    world.new("First")
    with Project.open(world.root, world.environ) as project, project.journal.transaction():
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
    assert ids(many, "--status", "paused") == ["Task 57", "Task 58"]
    assert ids(many, "--status", "cancelled", "--status", "paused") == ["Task 0", "Task 57", "Task 58"]
    assert ids(many, "--needs-you") == []  # you paused them yourself
    assert ids(many, "--running") == ids(many, "--failed") == ids(many, "--since", "2100-01-01") == []
    assert ids(many, "--priority", "P0") == ["Task 0", "Task 1"] == ids(many, "--priority", "high")
    assert ids(many, "--priority", "background") == []
    assert ids(many, "--tag", "x", "--status", "created") == ["Task 1", "Task 2"]
    assert ids(many, "task 5", "--since", "1h")[:2] == ["Task 5", "Task 50"]
    assert len(ids(many)) == 60


def test_tasks_that_a_person_paused_do_not_come_first(many: World) -> None:
    """Waiting tasks do, by priority; ended ones are last."""
    lines = many.ostler("status").stdout.splitlines()
    assert [line.split()[1] for line in (lines[1], lines[57], lines[58], lines[59], lines[60])] == [
        "pending",
        "pending",
        "paused",
        "paused",
        "cancelled",
    ]
    assert "P0" in lines[1] and "P0" not in lines[2]


@pytest.mark.full
def test_what_needs_a_person_comes_first(world: World) -> None:
    """Questions, reviews and failures, each by priority and then by waiting time; a terminal has titles."""
    (world.root / "ostler.toml").write_text('[gates.weights]\nmedium = "human"\n')
    plan = [{"fault": "blocked"}, {"fault": "a18_exit", "status": 1}, {}, {}]
    world.behave(plan=plan)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    asks, fails = world.new("Asks"), world.new("Fails")
    for task in (asks, fails):
        world.ostler("run", task, code=None)
    world.environ["OSTLER_PHASES__PLANS__MEDIUM"] = '["implement"]'
    later, urgent = (world.new(f"Review {p}", "-w", "medium", "--priority", p) for p in ("P2", "P0"))
    for task in (later, urgent):
        world.ostler("run", task, code=4)
    waits = world.new("Waits", "--priority", "P0")
    in_order = [asks, urgent, later, fails, waits]
    lines = world.ostler("status").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == in_order
    assert [
        one.split()[0] for one in world.ostler("status", "--needs-you").stdout.splitlines()[1:5]
    ] == in_order[:4]
    assert {task["id"] for task in world.json("status", "--needs-you")["tasks"]} == {*in_order[:4]}
    environ = world.environ | {"COLUMNS": "100"}
    with Person([sys.executable, "-m", "ostler", "status"], world.root, environ) as person:
        assert person.leave() == 0
    titles = [line for line in person.seen.splitlines() if line.startswith("── ")]
    assert titles == ["── Questions", "── Reviews", "── Failed", "── Waiting"]
    assert f"Next: ostler log {asks}" in person.seen


def test_pages_have_the_command_of_the_next_one(many: World) -> None:
    """With the same filters; JSON has all tasks unless a page is asked for."""
    done = many.ostler("status", "Task", "--limit", "20", "--page", "2")
    assert len(done.stdout.split("\n\n")[0].splitlines()) == 21 and "59 of 60 tasks" in done.stdout
    assert "Page 2 of 3.  Next: ostler status Task --limit 20 --page 3" in done.stderr
    page = many.json("status", "--page", "2")
    assert (len(page["tasks"]), page["total"], page["page"], page["pages"]) == (10, 60, 2, 2)
    assert len(ids(many, "--limit", "9" * 30)) == 60
    assert many.ostler("events", "--after", "9" * 30).stdout == ""


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
        ("--since", ""),
        ("--tag", ""),
    ],
)
def test_a_wrong_filter_is_exit_2(world: World, bad: tuple[str, ...]) -> None:
    """With one sentence, also as JSON."""
    assert world.ostler("status", *bad, code=2).stderr.startswith("ostler: ")
    assert json.loads(world.ostler("status", *bad, "--json", code=2).stdout)["code"] == "USAGE"


@pytest.mark.full
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
