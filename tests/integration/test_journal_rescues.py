"""Rescued copies and ostler journal rebuild: no record of a readable journal is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from journal_file import journal_path
from world import World


def rescue(world: World, name: str = "1") -> Path:
    """Copy the journal as a run does whose journal is lost."""
    path = world.root / ".ostler" / f"rescue-{name}.db"
    world.ostler("journal", "backup", str(path))
    return path


def titles(world: World) -> list[str]:
    return sorted(task["title"] for task in world.json("status")["tasks"])


def test_readable_journal_with_other_tasks_is_kept(world: World, tmp_path: Path) -> None:
    """Both have a task that the other lacks: both are named, and a person chooses."""
    world.new("Both")
    world.ostler("journal", "backup", str(tmp_path / "old.db"))
    for number in range(3):
        world.new(f"Rescued {number}")
    copy = rescue(world)
    shutil.copy(tmp_path / "old.db", tmp_path / "new.db")
    for file in journal_path(world.root).parent.glob("ostler.db*"):
        file.unlink()
    (tmp_path / "new.db").rename(journal_path(world.root))
    world.new("Later")
    done = world.ostler("journal", "rebuild", code=2)
    assert str(copy) in done.stderr and str(journal_path(world.root)) in done.stderr
    assert titles(world) == ["Both", "Later"]
    done = world.ostler("journal", "rebuild", "--from", str(journal_path(world.root)))
    assert f"not used: {copy}.used" in done.stderr
    assert titles(world) == ["Both", "Later", *(f"Rescued {number}" for number in range(3))], (
        "from their files"
    )
    assert world.ostler("journal", "check", code=None).stdout.count(str(copy)) == 0


def test_copy_with_more_records_is_used(world: World, tmp_path: Path) -> None:
    """The journal has only records that the copy has too."""
    world.new("Both")
    world.ostler("journal", "backup", str(tmp_path / "old.db"))
    world.new("Rescued")
    copy = rescue(world)
    for file in journal_path(world.root).parent.glob("ostler.db*"):
        file.unlink()
    os.rename(tmp_path / "old.db", journal_path(world.root))
    assert f"from {copy}." in world.ostler("journal", "rebuild").stdout
    assert titles(world) == ["Both", "Rescued"]


def test_state_directory_deleted_during_a_run(world: World) -> None:
    """`rm -rf .git/ostler`: the rescued copy is named and used, and every task runs after that."""
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    done = world.new("Done")
    world.ostler("run", done, code=4)
    world.ostler("approve", done)
    waiting = world.new("Waiting")
    rescue(world)
    shutil.rmtree(world.root / ".git" / "ostler")
    assert "ostler journal rebuild" in world.ostler("status", code=3).stderr
    world.ostler("journal", "rebuild")
    assert (world.root / ".ostler" / "tasks" / waiting / "task.md").is_file()
    world.ostler("run", "--all", code=None)
    assert [world.show(task)["status"] for task in (done, waiting)] == ["completed", "needs_review"]


def test_exhausted_copy_is_found_once(world: World) -> None:
    """The journal has all its records: it is renamed, and the check is correct afterwards."""
    world.new()
    copy = rescue(world)
    assert str(copy) in world.ostler("journal", "check", code=3).stdout
    done = world.ostler("journal", "rebuild")
    assert "nothing was changed" in done.stdout and "not used" not in done.stderr
    assert copy.with_name(f"{copy.name}.used").exists()
    world.ostler("journal", "check")


def test_unreadable_copy_is_named(world: World) -> None:
    world.new()
    copy = world.root / ".ostler" / "rescue-2.db"
    copy.write_bytes(b"x" * 9000)
    assert f"not used: {copy}.used" in world.ostler("journal", "rebuild").stderr


def test_rebuild_without_files(world: World) -> None:
    """Nothing is created."""
    (world.root / "ostler.toml").write_text("")
    done = world.ostler("journal", "rebuild", code=1)
    assert "no files of tasks were found" in done.stderr
    assert not journal_path(world.root).exists() and not (world.root / ".ostler").exists()


def test_rebuild_without_the_git_directory(world: World) -> None:
    """The readable view leads to nothing: the error names the directory that is gone."""
    world.new()
    shutil.rmtree(world.root / ".git")
    done = world.ostler("journal", "rebuild", code=3)
    assert f"the journal was in {world.root}/.git/ostler, which does not exist" in done.stderr


def test_view_that_is_a_loop(world: World) -> None:
    """The link is not followed without end; it is made again."""
    task = world.new()
    link = world.root / ".ostler" / "tasks"
    link.unlink()
    link.symlink_to("tasks")
    assert world.show(task)["status"] == "pending"
    world.new("Second")
    assert (link / task / "task.md").is_file()
    journal_path(world.root).unlink()
    link.unlink()
    link.symlink_to("tasks")
    world.ostler("status", code=3)


def test_linked_work_tree_moved_and_pruned(world: World, tmp_path: Path) -> None:
    """The journal is kept, and every command names it."""
    original, world.root = world.root, tmp_path / "linked"
    subprocess.run(["git", "worktree", "add", "-q", "-b", "x", str(world.root)], cwd=original, check=True)
    world.new()
    journal = journal_path(world.root)
    world.root = world.root.rename(tmp_path / "moved")
    subprocess.run(["git", "worktree", "prune"], cwd=original, check=True)
    for command in (["status"], ["journal", "rebuild"]):
        assert f"the journal is in {journal.parent}" in world.ostler(*command, code=3).stderr
    assert journal.exists()
