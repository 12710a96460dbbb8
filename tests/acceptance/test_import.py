"""Tasks from files, a checklist and issues: each is imported once, and its source updated at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.testing.fake_github import FakeGitHub
from world import World

ADDRESS = "http://github.localhost/acme/app.git"
TODO = "# Todo\r\n\r\n- [ ] Write one\r\n  In full.\r\n- [ ] Write two\r\n"


@pytest.fixture
def github(world: World) -> Iterator[FakeGitHub]:
    """A fake GitHub behind `origin`, as gh resolves it."""
    with FakeGitHub("acme/app") as made:
        world.git("remote", "add", "origin", ADDRESS)
        world.environ |= made.environment(world.root.parent / "gh")
        world.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{world.environ['PATH']}"
        yield made


def imported(world: World, *args: str) -> list[str]:
    """Import, and return the ids of new tasks."""
    return [task["id"] for task in world.json("import", *args)["tasks"] if task["added"]]


def reported(world: World, task: str) -> list[str]:
    return [event["type"] for event in world.events(task) if event["type"].startswith("source")]


def test_files_a_directory_and_stdin(world: World) -> None:
    """Each is a task; importing again adds nothing and reports it."""
    (world.root / "notes").mkdir()
    (world.root / "notes" / "a.md").write_text("# Fix the login\n\nIt loops.\n")
    (world.root / "notes" / "b.md").write_text("---\ntitle: Tidy up\npriority: P1\n---\n\nAll.\n")
    done = world.ostler("import", "notes", "-", stdin="# From a pipe\n")
    assert done.stdout.startswith("added ") and "file:notes/a.md" in done.stdout
    assert "Next: ostler run --all" in done.stderr
    assert {(task["title"], task["priority"]) for task in world.json("status")["tasks"]} == {
        ("Fix the login", "P2"),
        ("Tidy up", "P1"),
        ("From a pipe", "P2"),
    }
    again = world.ostler("import", "notes/a.md", "notes", "-", stdin="# From a pipe\n")
    assert again.stdout == "" and "Nothing new: 3 tasks already imported." in again.stderr


def test_one_mistake_and_nothing_is_added(world: World) -> None:
    """Every mistake of every file with its line, exit 2."""
    for name, text in (
        ("a", "# Fine\n"),
        ("b", "---\ntitle: B\nweight: huge\n---\n"),
        ("c", "---\nrole: x\n---\n# C\n"),
    ):
        (world.root / f"{name}.md").write_text(text)
    done = world.ostler("import", "a.md", "b.md", "c.md", code=2)
    assert "b.md:3: weight" in done.stderr and 'c.md: unknown role "x"' in done.stderr
    assert not (world.root / ".ostler").exists()


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--repo", "acme/app", "a.md"),
        ("--issue", "7", "a.md"),
        ("--github", " "),
        ("none.md",),
        ("--checklist", "x"),
        ("--checklist", ""),
        ("--checklist", "."),
        ("--checklist", "../../../../etc/shadow-none"),
    ],
)
def test_what_cannot_be_imported(world: World, args: tuple[str, ...]) -> None:
    """One sentence and exit 2."""
    done = world.ostler("import", *args, code=2)
    assert done.stderr.startswith("ostler: ")


@pytest.mark.full
def test_a_box_is_ticked_when_its_task_is_completed(world: World) -> None:
    """Only that character changes; the other box waits for its own task."""
    todo = world.root / "TODO.md"
    todo.write_bytes(TODO.encode())
    one, two = imported(world, "--checklist", "TODO.md")
    assert world.json("show", one)["title"] == "Write one"
    world.ostler("set", two, "not_before=2999-01-01")
    world.ostler("run", one)
    assert todo.read_bytes() == TODO.replace("[ ] Write one", "[x] Write one").encode()
    assert reported(world, one) == ["source_updated"]
    assert imported(world, "--checklist", "TODO.md") == []
    todo.write_text("- [x] Write two\n")
    world.ostler("set", two, "not_before=")
    world.ostler("run", two)
    assert todo.read_text() == "- [x] Write two\n" and reported(world, two) == []


def test_a_failed_task_ticks_nothing(world: World) -> None:
    """A cancelled task ticks nothing either."""
    todo = world.root / "TODO.md"
    todo.write_text("- [ ] Write one\n")
    world.behave(fault="a18_exit", status=1)
    (task,) = imported(world, "--checklist", "TODO.md")
    world.ostler("run", task, code=1, OSTLER_RETRY__MAX_RETRIES="0")
    world.ostler("cancel", task, code=None)
    assert todo.read_text() == "- [ ] Write one\n"


def test_a_box_that_cannot_be_ticked_is_ticked_by_the_next_import(world: World) -> None:
    """The task is completed, and its notice has the reason."""
    todo = world.root / "TODO.md"
    todo.write_text("- [ ] Write one\n- [ ] Later\n")
    (task, _) = imported(world, "--checklist", "TODO.md")
    moved = todo.rename(world.root / "real.md")
    todo.symlink_to(moved)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed" and reported(world, task) == ["source_update_failed"]
    todo.unlink()
    moved.rename(todo)
    assert imported(world, "--checklist", "TODO.md") == []
    assert todo.read_text().startswith("- [x] Write one\n")
    assert reported(world, task) == ["source_update_failed", "source_updated"]


@pytest.mark.full
def test_issues_by_label_are_reported_once(world: World, github: FakeGitHub) -> None:
    """The repository is that of the remote; the comment has the result, and a second end adds none."""
    github.hub.report("Fix the login", "It loops.\r\n", "ready", "bug")
    github.hub.report("Not yet", "", "bug")
    (task,) = imported(world, "--github", "ready")
    shown: dict[str, Any] = world.show(task)
    assert shown["title"] == "Fix the login"
    world.ostler("run", task)
    (comment,) = github.issues[0].comments
    assert f"<!-- ostler {task} -->" in comment and f"ostler/{task}" in comment
    world.ostler("rewind", task, "--to", "implement")
    world.ostler("run", task)
    assert len(github.issues[0].comments) == 1 and github.issues[1].comments == ()
    assert imported(world, "--github", "ready", "--repo", "github.localhost/Acme/App") == []


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", ["server_error", "rate_limited", "lost_answer", "hang_up"])
def test_a_comment_that_failed_is_written_by_the_next_import(
    world: World, github: FakeGitHub, fault: str
) -> None:
    """Once in total, also when it was written and only the answer was lost."""
    github.hub.report("Fix the login", "", "ready")
    (task,) = imported(world, "--github", "ready")
    github.fail("CommentCreate", fault, times=9)
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed" and reported(world, task) == ["source_update_failed"]
    github.clear()
    github.hub.revise(1, state="CLOSED")
    assert imported(world, "--github", "ready") == []
    assert len(github.issues[0].comments) == 1
    imported(world, "--github", "ready")
    assert len(github.issues[0].comments) == 1


def test_an_answer_that_cannot_be_read_fails_no_task(world: World, github: FakeGitHub) -> None:
    """An unexpected gh: one sentence at the import, a notice at the end of a task."""
    github.hub.report("Fix the login", "", "ready")
    (task,) = imported(world, "--github", "ready")
    odd = world.root.parent / "odd"
    odd.mkdir()
    (odd / "gh").write_text("#!/bin/sh\necho hello\n")
    (odd / "gh").chmod(0o755)
    path = f"{odd}{os.pathsep}{world.environ['PATH']}"
    done = world.ostler("import", "--github", "ready", code=1, PATH=path)
    assert "gh printed invalid JSON" in done.stderr
    world.ostler("run", task, PATH=path)
    assert world.show(task)["status"] == "completed" and reported(world, task) == ["source_update_failed"]


def test_without_a_remote_the_repository_must_be_named(world: World) -> None:
    """The error of gh is one sentence."""
    done = world.ostler("import", "--github", "ready", code=2)
    assert "--repo OWNER/NAME" in done.stderr
    world.ostler("import", "--github", "ready", "--repo", "nonsense", code=2)


def test_task_files_of_older_systems_keep_their_ids(world: World) -> None:
    """TASK-001 and ids of 41 characters are mapped, dependencies too, and both spellings find the task."""
    long = "product-marketing-context-20251116-a1b2c3"
    files = {
        "a.md": "---\nid: TASK-001\ntitle: One\n---\n",
        "b.md": f"---\nid: {long}\ntitle: Two\ndepends_on: [TASK-001]\n---\n",
    }
    for name, text in files.items():
        (world.root / name).write_text(text)
    done = world.ostler("import", *files)
    assert "a.md: id TASK-001 is task-001 here" in done.stderr
    assert world.show("TASK-001")["title"] == "One"
    assert world.show(long)["title"] == "Two" and len(world.show(long)["id"]) <= 40
    assert 'external_id: "TASK-001"' in (world.root / ".ostler/tasks/task-001/task.md").read_text()
    assert imported(world, *files) == []


def test_a_new_task_from_such_a_file_gets_an_id_of_its_own(world: World) -> None:
    """`new -f` always adds a task, and does not mention the id of the file."""
    (world.root / "a.md").write_text("---\nid: TASK-001\ntitle: One\n---\n")
    done = world.ostler("new", "-f", "a.md")
    assert done.stdout.startswith("one-") and "TASK-001" not in done.stderr
    assert "external_id" not in (world.root / f".ostler/tasks/{done.stdout.strip()}/task.md").read_text()
