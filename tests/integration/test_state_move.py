"""The state of an older version moves into the git directory, also when the move is killed at any step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from journal_file import journal_path, restore_old_layout
from world import World

STEPS = (
    "move.start",
    "store.backup",
    "move.copied",
    "move.folder",
    "move.folders",
    "move.kept",
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A project with a completed task, in the layout of older versions."""
    made = World(tmp_path_factory.mktemp("old"))
    made.new("Add a greeting")
    made.ostler("run", "--all")
    made.new("Wait")
    restore_old_layout(made.root)
    yield made
    made.close()


@pytest.fixture
def old(template: World, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, git=False)
    shutil.copytree(template.root, made.root, dirs_exist_ok=True, symlinks=True)
    yield made
    made.close()


def read_feed(path: Path) -> list[Any]:
    """Return the rows of a journal that must be sound; the copy keeps the file unchanged."""
    copy = path.with_name("read.db")
    for end in ("", "-wal"):
        if path.with_name(path.name + end).exists():
            shutil.copy(path.with_name(path.name + end), copy.with_name(copy.name + end))
    db = apsw.Connection(str(copy))
    assert list(db.execute("PRAGMA integrity_check")) == [("ok",)]
    found = list(db.execute("SELECT position, task, type FROM feed ORDER BY position"))
    db.close()
    copy.unlink()
    return found


def check_moved(world: World, feed: list[Any]) -> None:
    """Everything is in the git directory and is read from there; the old journal is kept."""
    tasks = world.json("status")["tasks"]
    assert [task["status"] for task in tasks] == ["completed", "pending"]
    state, view = journal_path(world.root).parent, world.root / ".ostler"
    assert state == world.root / ".git" / "ostler"
    assert read_feed(journal_path(world.root))[: len(feed)] == feed
    assert read_feed(view / "ostler.db.bak") == feed
    assert not (view / "ostler.db").exists()
    assert (view / "tasks").is_symlink()
    assert (view / "tasks" / tasks[0]["id"] / "task.md").is_file()
    assert "Traceback" not in world.ostler("log", tasks[0]["id"]).stdout
    assert list((view / "tasks" / tasks[0]["id"] / "transcripts").glob("*.jsonl"))
    assert not list(state.rglob("*.tmp")) and not (view / "locks").exists()
    assert state.stat().st_mode & 0o777 == 0o700
    assert journal_path(world.root).stat().st_mode & 0o777 == 0o600


@pytest.mark.full
def test_moved_once(old: World) -> None:
    """The move is reported once, nothing is lost, and the next task runs."""
    feed = read_feed(old.root / ".ostler" / "ostler.db")
    done = old.ostler("status")
    assert f"moved the journal to {journal_path(old.root)}" in done.stderr
    assert f"kept as {old.root / '.ostler' / 'ostler.db.bak'}" in done.stderr
    assert "moved" not in old.ostler("status").stderr
    check_moved(old, feed)
    old.ostler("run", "--all")
    assert [task["status"] for task in old.json("status")["tasks"]] == ["completed", "completed"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step(old: World, step: str) -> None:
    """Afterwards the old or the new journal is complete, and the next start completes the move."""
    before = old.root / ".ostler" / "ostler.db"
    feed = read_feed(before)
    assert feed
    done = old.ostler("status", code=None, OSTLER_FAILPOINT=f"{step}:kill")
    assert done.returncode == -9, f"{step} is never reached: {done.stderr}"
    complete = [path for path in (before, journal_path(old.root)) if path.exists()]
    assert complete
    assert all(read_feed(path)[: len(feed)] == feed for path in complete)
    check_moved(old, feed)


def test_refused_while_another_process_uses_it(old: World) -> None:
    """Exit 3 with a sentence and no change; the next start moves it."""
    path = old.root / ".ostler" / "ostler.db"
    feed = read_feed(path)
    holder = apsw.Connection(str(path))
    assert list(holder.execute("SELECT count(*) FROM feed"))
    for command in (["status"], ["run", "--all"], ["new", "Another"]):
        done = old.ostler(*command, "--json", code=3)
        assert json.loads(done.stdout)["code"] == "JOURNAL_IN_USE"
        assert str(path) in done.stderr and "stop it" in done.stderr
        assert not journal_path(old.root).exists()
    holder.close()
    check_moved(old, feed)


def test_refused_while_a_run_holds_a_lock(old: World) -> None:
    """The lock of a task in the old place belongs to a run of an older version."""
    import fcntl

    lock = old.root / ".ostler" / "locks" / "some-task"
    lock.touch()
    held = os.open(lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    done = old.ostler("status", code=3)
    os.close(held)
    assert "cannot be moved into the git directory while another process uses it" in done.stderr
    old.ostler("status")


def test_two_different_journals_are_refused(old: World) -> None:
    """A second journal in the old place is neither merged nor dropped."""
    old.ostler("status")
    other = World(old.root.parent, name="other", git=False)
    other.new("Other")
    shutil.copy(other.root / ".ostler" / "ostler.db", old.root / ".ostler" / "ostler.db")
    done = old.ostler("status", code=2)
    assert "there are two journals of this project" in done.stderr
    assert (old.root / ".ostler" / "ostler.db").exists()


def test_damaged_journal_is_not_moved(old: World) -> None:
    """A damaged file is refused and stays byte for byte the same."""
    path = old.root / ".ostler" / "ostler.db"
    path.write_bytes(b"x" * 5000)
    old.ostler("status", code=2)
    assert path.read_bytes() == b"x" * 5000
    assert not journal_path(old.root).exists()


def test_git_init_after_ostler_init(tmp_path: Path) -> None:
    """A project without git keeps its state in .ostler, and moves it when it becomes a repository."""
    made = World(tmp_path, git=False)
    made.new("First")
    assert journal_path(made.root) == made.root / ".ostler" / "ostler.db"
    assert not (made.root / ".ostler" / "tasks").is_symlink()
    made.make_repository()
    assert "moved the journal" in made.ostler("status").stderr
    assert [task["title"] for task in made.json("status")["tasks"]] == ["First"]
    made.close()
