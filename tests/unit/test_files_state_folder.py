"""Where the state of a project is, for every kind of git directory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ostler.files.layout import Layout
from ostler.files.state_folder import find_state_folder

GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")


def git(place: Path, *args: str) -> str:
    return subprocess.run([*GIT, *args], cwd=place, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = (tmp_path / "work").resolve()
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    return place


def test_without_git(tmp_path: Path) -> None:
    """The state is in .ostler; an empty .git is no repository, for git neither."""
    (tmp_path / ".git").mkdir()
    assert find_state_folder(tmp_path) == tmp_path / ".ostler"


def test_in_the_work_tree(repository: Path) -> None:
    """The state is in the git directory, the readable files and the worktrees are in the project."""
    layout = Layout(repository)
    assert layout.database == repository / ".git" / "ostler" / "ostler.db"
    assert layout.view == repository / ".ostler" and layout.worktrees == layout.view / "worktrees"


def test_projects_in_subdirectories(repository: Path) -> None:
    """Each has its own state, also with the longest names."""
    places = [repository / "a", repository / "a" / "b", repository / "a b%", repository / ("ä" * 60) / "c"]
    for place in places:
        place.mkdir(parents=True)
    found = [find_state_folder(place) for place in (repository, *places)]
    assert len({*found}) == 5
    assert found[2] == repository / ".git" / "ostler" / "projects" / "a%2Fb"
    for folder in found:
        folder.mkdir(parents=True)


def test_linked_work_trees_are_projects_of_their_own(repository: Path, tmp_path: Path) -> None:
    """The state is in the common git directory: git deletes only the work tree's own git directory."""
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    folder = find_state_folder(tmp_path / "linked")
    assert folder == repository / ".git" / "ostler" / "worktrees" / "linked"
    assert find_state_folder(tmp_path / "linked" / "sub") == folder / "projects" / "sub"
    folder.mkdir(parents=True)
    (folder / "ostler.db").touch()
    git(repository, "worktree", "move", "linked", str(tmp_path / "moved"))
    assert find_state_folder(tmp_path / "moved") == folder
    git(repository, "worktree", "remove", "moved")
    assert not (repository / ".git" / "worktrees").exists() and (folder / "ostler.db").exists()


def test_separate_git_directory(tmp_path: Path) -> None:
    """The pointer in the file .git is followed."""
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), str(tmp_path / "work"))
    assert find_state_folder(tmp_path / "work") == (tmp_path / "elsewhere" / "ostler").resolve()


def test_submodule(repository: Path, tmp_path: Path) -> None:
    """A submodule has its git directory in that of its superproject."""
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(repository), "inner")
    assert find_state_folder(outer / "inner") == (outer / ".git" / "modules" / "inner" / "ostler").resolve()


def test_worktree_of_a_bare_repository(repository: Path, tmp_path: Path) -> None:
    """A bare repository has no files; a worktree made from it has its own state there."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "one"), "main")
    assert find_state_folder(tmp_path / "one") == (tmp_path / "bare.git/ostler/worktrees/one").resolve()


@pytest.mark.parametrize("content", ["gitdir: missing\n", "garbage", "", "gitdir: .\n"])
def test_broken_pointer(tmp_path: Path, content: str) -> None:
    """A pointer to nothing is no repository."""
    (tmp_path / ".git").write_text(content)
    assert find_state_folder(tmp_path) == tmp_path / ".ostler"


def test_same_answer_as_git(repository: Path) -> None:
    """The directory is the one that git itself reports."""
    assert find_state_folder(repository).parent == Path(git(repository, "rev-parse", "--absolute-git-dir"))


def test_repository_around_it_is_not_writable(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project in a directory of another user's repository has its state in .ostler, unless it has one."""
    writable = find_state_folder(repository / "sub")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != repository / ".git")  # also as root
    assert find_state_folder(repository / "sub") == repository / "sub" / ".ostler"
    assert find_state_folder(repository) == repository / ".git" / "ostler"
    writable.mkdir(parents=True)
    assert find_state_folder(repository / "sub") == writable
