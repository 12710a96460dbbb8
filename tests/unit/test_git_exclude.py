"""Excluded paths of a worktree."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world, tree
from ostler.git.commit.diff import has_changed_since
from ostler.git.commit.exclude import exclude_file, list_untracked, to_exclude_pattern, write_exclude


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a/b", "/a/b"),
        ("a b", r"/a\ b"),
        ("[x]*?", r"/\[x\]\*\?"),
        ("!a", r"/\!a"),
        ("#a", r"/\#a"),
        ("a\\b", r"/a\\b"),
        ("a\nb", "/a?b"),
    ],
)
def test_a_path_is_named_and_nothing_else(path: str, line: str) -> None:
    """Every character is literal; only a line break cannot be written."""
    assert to_exclude_pattern(path) == line


def test_every_look_at_the_worktree_passes_over_them(world: World) -> None:
    """Commits and the check for changes; the same name in another directory counts."""
    worktree = world.prepare()
    write_exclude(worktree.repository, ("local", "linked"))
    (worktree.path / "local").write_text("x")
    (worktree.path / "linked").symlink_to("/usr")
    assert not has_changed_since(worktree, worktree.base)
    (worktree.path / "sub" / "local").write_text("x")
    assert has_changed_since(worktree, worktree.base)
    commit_step(worktree)
    assert "sub/local" in tree(world) and not {"local", "linked"} & tree(world)


def test_it_is_of_one_worktree_alone(world: World) -> None:
    """Neither the user's checkout nor the repository's exclude file contains it."""
    worktree = world.prepare()
    shared = world.project / ".git" / "info" / "exclude"
    before = shared.read_bytes() if shared.exists() else None
    write_exclude(worktree.repository, ("local",))
    (world.project / "local").write_text("the user's")
    assert git(world.project, "status", "--porcelain") == "?? local"
    assert (shared.read_bytes() if shared.exists() else None) == before
    assert exclude_file(worktree.repository) != shared


def test_what_is_untracked_is_listed_shortly(world: World) -> None:
    """An untracked directory is listed by its name; ignored and excluded files are not listed."""
    worktree = world.prepare()
    write_exclude(worktree.repository, ("local",))
    for name in ("local", "new", "build/x", "made/deep/x", "sub/new"):
        (worktree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree.path / name).write_text("x")
    assert set(list_untracked(worktree.repository)) == {"new", "made/", "sub/new"}


def test_an_agent_that_adds_everything_does_not_commit_what_was_put_there(world: World) -> None:
    """The agent's own commit has it, the next checkpoint does not; files of the setup may be committed."""
    worktree = world.prepare()
    write_exclude(worktree.repository, ("linked", "local"), ("generated",))
    (worktree.path / "linked").symlink_to("/usr")
    for name in ("local", "generated", "work"):
        (worktree.path / name).write_text("x")
    git(worktree.path, "add", "-A")
    git(worktree.path, "commit", "-qm", "all of it")
    commit_step(worktree)
    assert {"generated", "work"} <= tree(world) and not {"linked", "local"} & tree(world)
    assert (worktree.path / "linked").is_symlink() and (worktree.path / "local").exists()


def test_what_the_base_has_stays(world: World) -> None:
    """A path that was committed before the task began counts as work."""
    base = world.commit({"local": "committed\n"})
    worktree = world.prepare(base)
    write_exclude(worktree.repository, ("local",))
    (worktree.path / "local").write_text("changed")
    commit_step(worktree)
    assert git(world.project, "show", "ostler/fix-login-ab12:local") == "changed"
