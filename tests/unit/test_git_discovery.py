from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from git_world import World, git, make_world
from ostler.errors import Code, GitError
from ostler.git.discovery import _discover, _read_plain, discover_repository


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def test_not_a_git_directory_is_none(tmp_path: Path):
    """A directory without git is not an error: the task works in place."""
    assert discover_repository(tmp_path) is None


def test_top_and_subdirectory(world: World):
    """A subdirectory gives the same repository with its relative path."""
    top = discover_repository(world.project)
    below = discover_repository(world.project / "sub")
    assert top and below
    assert (top.prefix, below.prefix) == ("", "sub")
    assert top.git_dir == top.common_dir == world.project / ".git"
    assert below.work_tree == world.project


def test_project_in_a_linked_worktree(world: World, tmp_path: Path):
    """A project that is itself a worktree shares the common directory of its repository."""
    git(world.project, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = discover_repository(tmp_path / "side")
    assert found
    assert found.common_dir == world.project / ".git"
    assert found.git_dir == world.project / ".git" / "worktrees" / "side"


def test_names_with_spaces_and_unicode(tmp_path: Path):
    """Spaces, quotes and letters of any script in the path work."""
    made = World(tmp_path, "my prøject 'ü' 日本")
    found = discover_repository(made.project)
    assert found and found.work_tree == made.project


def test_bare_repository_is_refused(tmp_path: Path):
    """A repository without a work tree is refused in one sentence."""
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(GitError) as caught:
        discover_repository(tmp_path / "bare.git")
    assert "bare" in caught.value.message and caught.value.hint


@pytest.mark.parametrize("damage", ["no HEAD", "pointer to nowhere"])
def test_a_damaged_repository_is_not_taken_for_none(world: World, damage: str):
    """Working in place next to a broken .git would silently change the behaviour."""
    if damage == "no HEAD":
        (world.project / ".git" / "HEAD").unlink()
    else:
        (world.project / ".git").rename(world.project / "elsewhere")
        (world.project / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(GitError) as caught:
        discover_repository(world.project)
    assert caught.value.code is Code.GIT_CORRUPT


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_dubious_ownership_shows_what_to_do_and_the_advice_helps(world: World):
    """The hint is git's own fix, and after it the repository is found."""
    for path in (world.project, world.project / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(GitError) as caught:
        discover_repository(world.project)
    assert caught.value.exit == 2
    assert f'safe.directory "{world.project}"' in caught.value.hint
    git(world.root, "config", "--global", "--add", "safe.directory", str(world.project))
    assert discover_repository(world.project)


def test_line_break_in_the_path_is_refused(tmp_path: Path):
    """A path that does not fit git's output of lines is refused by name."""
    made = World(tmp_path, "two\nlines")
    with pytest.raises(GitError) as caught:
        discover_repository(made.project)
    assert "line break" in caught.value.message


def _make_plain(world: World) -> None:
    """Leave in the configuration what `git init` writes."""
    git(world.project, "config", "--remove-section", "user")


def test_a_repository_as_git_makes_it_is_found_without_git(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its top directory gives what git gives, also by a symbolic link."""
    _make_plain(world)
    link = world.project.parent / "link"
    link.symlink_to(world.project)
    by_git = _discover(world.project)
    monkeypatch.setattr("ostler.git.discovery.execute_git", None)
    assert by_git == discover_repository(world.project) == discover_repository(link)


@pytest.mark.parametrize(
    "change",
    [
        lambda project: git(project, "config", "extensions.worktreeConfig", "true"),
        lambda project: git(project, "config", "core.repositoryFormatVersion", "1"),
        lambda project: git(project, "config", "core.worktree", "/elsewhere"),
        lambda project: git(project, "config", "core.bare", "true"),
        lambda project: git(project, "config", "include.path", "more"),
        lambda project: git(project, "config", "user.name", "Ada # Lovelace"),
        lambda project: git(project, "config", "--unset", "core.bare"),
        lambda project: git(project, "checkout", "-q", "--detach"),
        lambda project: (project / ".git/commondir").write_text("../elsewhere\n"),
        lambda project: (project / ".git/refs").rename(project / "elsewhere"),
        lambda project: (project / ".git/HEAD").write_text("odd\n"),
        lambda project: (project / ".git/config").unlink(),
        lambda project: (
            (project / ".git").rename(project / "real") and (project / ".git").symlink_to(project / "real")
        ),
    ],
)
def test_everything_unusual_is_left_to_git(world: World, change: Callable[[Path], object]) -> None:
    """Extensions, another work tree, a configuration with rules of its own, and what is missing."""
    _make_plain(world)
    place = str(world.project)
    assert _read_plain(place) is not None
    change(world.project)
    assert _read_plain(place) is None


def test_a_repository_of_another_user_is_left_to_git(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git decides by safe.directory."""
    _make_plain(world)
    assert _read_plain(str(world.project)) is not None
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert _read_plain(str(world.project)) is None
