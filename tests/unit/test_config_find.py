"""Which project a directory belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.config.find import find_root
from ostler.errors import UsageError


def make(root: Path, *folders: str) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("mark", [".ostler", "ostler.toml"])
def test_the_nearest_parent_with_a_mark(tmp_path: Path, mark: str) -> None:
    """A project is found from any directory below it, and the inner one of two is used."""
    make(tmp_path, "outer/.ostler", "outer/inner/a/b")
    target = tmp_path / "outer" / "inner" / mark
    target.mkdir() if mark == ".ostler" else target.touch()
    assert find_root(tmp_path / "outer/inner/a/b", {}) == tmp_path / "outer/inner"
    assert find_root(tmp_path / "outer/inner", {}) == tmp_path / "outer/inner"
    assert find_root(tmp_path / "outer", {}) == tmp_path / "outer"


def test_no_mark_is_no_project(tmp_path: Path) -> None:
    """Outside of any project the result is None, and a file named .ostler is not a project."""
    (tmp_path / ".ostler").touch()
    assert find_root(tmp_path, {}) is None


@pytest.mark.parametrize("place", ["", "sub", "sub/.ostler/worktrees/t2/deep"])
def test_a_worktree_belongs_to_the_project_that_owns_it(tmp_path: Path, place: str) -> None:
    """A worktree has a copy of ostler.toml, but is never a project itself."""
    worktree = tmp_path / "p/.ostler/worktrees/t1"
    make(worktree, place, "sub/.ostler")
    (worktree / "ostler.toml").touch()
    (worktree / "sub/ostler.toml").touch()
    assert find_root(worktree / place, {}) == tmp_path / "p"
    assert find_root(tmp_path, {"OSTLER_PROJECT": str(worktree / place)}) == tmp_path / "p"


def test_a_link_into_a_worktree_does_not_hide_it(tmp_path: Path) -> None:
    """The target of the link decides."""
    make(tmp_path, "p/.ostler/worktrees/t1")
    (tmp_path / "p/.ostler/worktrees/t1/ostler.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "p/.ostler/worktrees/t1")
    assert find_root(tmp_path / "link", {}) == tmp_path / "p"


def test_the_folder_of_worktrees_itself_is_inside_the_project(tmp_path: Path) -> None:
    """A directory below .ostler belongs to the project."""
    make(tmp_path, "p/.ostler/worktrees")
    for place in ("p/.ostler", "p/.ostler/worktrees"):
        assert find_root(tmp_path / place, {}) == tmp_path / "p"


def test_the_variable_goes_first(tmp_path: Path) -> None:
    """OSTLER_PROJECT names the root, with or without a mark; a relative path starts at the given one."""
    make(tmp_path, "here/.ostler", "there")
    here, there = tmp_path / "here", tmp_path / "there"
    assert find_root(here, {"OSTLER_PROJECT": str(there)}) == there
    assert find_root(here, {"OSTLER_PROJECT": "../there"}) == there
    assert find_root(here, {"OSTLER_PROJECT": ""}) == here


@pytest.mark.parametrize("named", ["missing", "file", "file/x", "loop", "x" * 5000])
def test_a_bad_variable_is_a_usage_error(tmp_path: Path, named: str) -> None:
    """A root that is not a directory is reported, with exit 2."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(UsageError, match="OSTLER_PROJECT is not a directory: ") as caught:
        find_root(tmp_path, {"OSTLER_PROJECT": named})
    assert caught.value.exit == 2
    assert caught.value.hint
