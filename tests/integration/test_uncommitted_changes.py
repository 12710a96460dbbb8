"""A dirty checkout: a warning, or a task that starts from a commit of the changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import snapshot_of
from journal_file import journal_path
from world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def make_dirty(world: World) -> None:
    """A changed, a staged, a deleted and two untracked files; one of these is ignored."""
    for name in ("staged.txt", "gone.txt"):
        Path(world.root, name).write_text("first\n")
    Path(world.root, ".gitignore").write_text("ignored.txt\n")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "second")
    Path(world.root, "README.md").write_text("what I wrote\n")
    Path(world.root, "staged.txt").write_text("staged\n")
    world.git("add", "staged.txt")
    Path(world.root, "gone.txt").unlink()
    for name in ("new.txt", "ignored.txt"):
        Path(world.root, name).write_text("new\n")


def test_new_and_run_warn_about_uncommitted_changes(world: World) -> None:
    """The number of files and some names are printed once; the task starts without them."""
    make_dirty(world)
    shown = world.ostler("new", "Extend the README")
    assert shown.stderr.count("4 files have uncommitted changes (") == 1
    assert "--include-changes" in shown.stderr
    task = shown.stdout.strip()
    assert world.ostler("run", task).stderr.count("uncommitted changes") == 1
    assert "what I wrote" not in world.git("show", f"ostler/{task}:README.md")


def test_a_clean_checkout_gives_no_warning(world: World) -> None:
    """An untracked ostler.toml is no reason for a warning."""
    Path(world.root, "ostler.toml").write_text("")
    task = world.ostler("new", "Extend the README")
    assert "uncommitted" not in task.stderr + world.ostler("run", task.stdout.strip()).stderr


def test_include_changes_starts_from_them(world: World) -> None:
    """The base has every change but ignored files; the checkout, the index and the stash stay."""
    make_dirty(world)
    before = snapshot_of(world.root)
    shown = world.ostler("new", "Extend the README", "--include-changes")
    task = shown.stdout.strip()
    assert "uncommitted" not in shown.stderr
    world.ostler("run", task)
    assert snapshot_of(world.root) == before
    assert not world.git("stash", "list")
    base = world.show(task)["base"]
    assert world.git("show", f"{base}:README.md") == "what I wrote\n"
    assert world.git("show", f"{base}:staged.txt") == "staged\n"
    names = world.git("ls-tree", "--name-only", base).split()
    assert names == [".gitignore", "README.md", "new.txt", "staged.txt"]
    assert "what I wrote" not in world.json("diff", task)["patch"]


def test_run_includes_changes_of_a_new_task(world: World) -> None:
    """`run -p` has the option too; with an id it is an error."""
    make_dirty(world)
    world.ostler("run", "-p", "Extend the README", "--include-changes")
    assert "needs -p or -f" in world.ostler("run", "--all", "--include-changes", code=2).stderr


def test_unresolved_conflicts_are_refused(world: World) -> None:
    """A checkout amid a conflict gives one sentence and no task."""
    world.git("switch", "-q", "-c", "side")
    Path(world.root, "README.md").write_text("side\n")
    world.git("commit", "-q", "-a", "-m", "side")
    world.git("switch", "-q", "main")
    Path(world.root, "README.md").write_text("main\n")
    world.git("commit", "-q", "-a", "-m", "main")
    with pytest.raises(Exception, match="merge"):
        world.git("merge", "side")
    shown = world.ostler("new", "Extend the README", "--include-changes", code=2)
    assert "has unresolved conflicts" in shown.stderr
    assert not journal_path(world.root).exists()


def test_another_target_is_refused(world: World) -> None:
    """The changes belong to the checked-out branch, so the target must be checked out."""
    make_dirty(world)
    world.git("branch", "release")
    shown = world.ostler("new", "x", "--include-changes", code=2, OSTLER_GIT__TARGET="release")
    assert "needs release (git.target) to be checked out, not main" in shown.stderr
