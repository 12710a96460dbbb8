from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_world import World, git, make_world
from ostler.errors import GitError
from ostler.git.repository import Worktree
from ostler.git.worktree.registration import (
    WorktreeState,
    inspect_worktree,
    require_worktree,
    restore_pointers,
)


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    return make_world(tmp_path).prepare()


def files(worktree: Worktree) -> dict[str, bytes]:
    admin = worktree.repository.git_dir
    named = {name: (admin / name).read_bytes() for name in ("HEAD", "gitdir", "commondir")}
    return named | {".git": (worktree.path / ".git").read_bytes()}


def test_what_git_wrote_is_what_we_would_write(worktree: Worktree):
    """An unchanged worktree needs no repair: the expected bytes equal those of git."""
    before = files(worktree)
    assert restore_pointers(worktree) is False
    assert files(worktree) == before


def _pointer_to(text: str) -> Callable[[Worktree], object]:
    return lambda worktree: (worktree.path / ".git").write_text(text)


def _pointer_gone(worktree: Worktree) -> None:
    (worktree.path / ".git").unlink()


def _pointer_is_link(worktree: Worktree) -> None:
    (worktree.path / ".git").unlink()
    os.symlink("/etc/passwd", worktree.path / ".git")


def _pointer_is_pipe(worktree: Worktree) -> None:
    (worktree.path / ".git").unlink()
    os.mkfifo(worktree.path / ".git")


def _pointer_is_repository(worktree: Worktree) -> None:
    (worktree.path / ".git").unlink()
    git(worktree.path, "init", "-q")


def _common_dir_elsewhere(worktree: Worktree) -> None:
    (worktree.repository.git_dir / "commondir").write_text("/elsewhere\n")


def _head_is_link(worktree: Worktree) -> None:
    (worktree.repository.git_dir / "HEAD").unlink()
    os.symlink("/etc/passwd", worktree.repository.git_dir / "HEAD")


TAMPERINGS = [
    _pointer_to("gitdir: /evil\n"),
    _pointer_to(""),
    _pointer_gone,
    _pointer_is_link,
    _pointer_is_pipe,
    _pointer_is_repository,
    _common_dir_elsewhere,
    _head_is_link,
]


@pytest.mark.parametrize("tamper", TAMPERINGS)
def test_every_tampering_is_undone(worktree: Worktree, tamper: Callable[[Worktree], object]):
    """The files that link the worktree to the repository have their original bytes again."""
    before = files(worktree)
    tamper(worktree)
    assert restore_pointers(worktree) is True
    assert files(worktree) == before
    assert git(worktree.path, "status", "--porcelain") == ""
    assert Path("/etc/passwd").exists()


def test_states(worktree: Worktree, tmp_path: Path):
    """Each state of a worktree is detected from files alone."""
    admin = worktree.repository.git_dir
    assert inspect_worktree(worktree) is WorktreeState.COMPLETE
    (admin / "locked").write_text("initializing")
    assert inspect_worktree(worktree) is WorktreeState.INCOMPLETE
    (admin / "locked").write_text("by the user")
    assert inspect_worktree(worktree) is WorktreeState.COMPLETE
    shutil.move(worktree.path, tmp_path / "moved")
    assert inspect_worktree(worktree) is WorktreeState.LOST
    shutil.rmtree(admin)
    assert inspect_worktree(worktree) is WorktreeState.ABSENT
    shutil.move(tmp_path / "moved", worktree.path)
    assert inspect_worktree(worktree) is WorktreeState.UNREGISTERED


def test_another_worktree_of_that_name_is_taken(tmp_path: Path):
    """A name is used only by a directory that points back to it."""
    world: World = make_world(tmp_path)
    git(world.project, "worktree", "add", "-q", "-b", "x", str(tmp_path / "elsewhere" / world.path.name))
    worktree = world.repository
    from ostler.git.repository import locate_worktree

    assert inspect_worktree(locate_worktree(worktree, world.path, "x", "HEAD")) is WorktreeState.NAME_TAKEN


def _directory_gone(worktree: Worktree) -> None:
    shutil.rmtree(worktree.path)


def _registration_gone(worktree: Worktree) -> None:
    shutil.rmtree(worktree.repository.git_dir)


def _registration_is_file(worktree: Worktree) -> None:
    _registration_gone(worktree)
    worktree.repository.git_dir.write_text("x")


@pytest.mark.parametrize(
    ("damage", "code", "reason"),
    [
        (_directory_gone, "WORKTREE_LOST", "{worktree} does not exist"),
        (_registration_gone, "WORKTREE_LOST", "{worktree} is not registered: {git_dir} does not exist"),
        (_registration_is_file, "GIT_CORRUPT", "{worktree} is not registered: {git_dir} is not a directory"),
    ],
)
def test_the_missing_side_is_named(
    worktree: Worktree, damage: Callable[[Worktree], None], code: str, reason: str
) -> None:
    """A directory that exists is not reported as missing."""
    damage(worktree)
    with pytest.raises(GitError) as raised:
        require_worktree(worktree)
    expected = reason.format(worktree=worktree.path, git_dir=worktree.repository.git_dir)
    assert (raised.value.code, raised.value.message) == (code, f"the worktree {expected}")
