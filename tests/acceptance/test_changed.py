"""ostler run --changed: a task about the changes of a branch, for hooks and continuous integration."""

from __future__ import annotations

import pytest

from journal_file import journal_path
from world import World


@pytest.fixture
def branch(world: World) -> World:
    """A branch off main on which a file was added, one renamed and one deleted."""
    for name in ("old.txt", "gone.txt"):
        (world.root / name).write_text(f"{name}\n" * 20)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "files")
    world.git("checkout", "-q", "-b", "topic")
    (world.root / "new one.txt").write_text("new\n")
    world.git("mv", "old.txt", "renamed.txt")
    world.git("rm", "-q", "gone.txt")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "topic")
    return world


def test_the_agent_gets_the_changed_files(branch: World) -> None:
    """By their current names, below the text of the task; main is found without being named."""
    branch.ostler("run", "--changed", "-p", "Review this change")
    (task,) = branch.json("status")["tasks"]
    prompt = (branch.root / ".ostler" / "tasks" / task["id"] / "prompts" / "implement-001.md").read_text()
    assert "Review this change" in prompt
    reported = prompt.partition("Files changed since main:")[2]
    assert all(f"- {name}" in reported for name in ("new one.txt", "renamed.txt", "gone.txt"))
    assert "- old.txt" not in reported


def test_nothing_is_run_where_nothing_changed(branch: World) -> None:
    """Exit 0, and no task: a hook without changes costs nothing."""
    branch.git("checkout", "-q", "main")
    printed = branch.ostler("run", "--changed", "topic~1", "-p", "Review this change").stdout
    assert printed == "Nothing to run: no file changed since topic~1.\n"
    assert not journal_path(branch.root).exists() and branch.started() == []


@pytest.mark.parametrize("base", ["nowhere", "a b"])
def test_a_base_that_is_none_is_refused(base: str, branch: World) -> None:
    """One sentence that names it, and no task is created."""
    done = branch.ostler("run", f"--changed={base}", "-p", "Review", code=2)
    assert f"'{base}' has no common commit with this branch" in done.stderr
    assert not journal_path(branch.root).exists()


def test_it_is_about_a_new_task(branch: World) -> None:
    """Existing tasks have their own text."""
    assert "--changed needs -p or -f" in branch.ostler("run", "--all", "--changed", code=2).stderr
