from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from git_world import World, commit_step, git, make_world
from ostler.errors import Code, GitError
from ostler.git.run import program
from ostler.git.run.command import run_git
from ostler.git.run.failure import classify_failure, find_lock_file
from ostler.git.run.program import execute_git
from ostler.git.worktree.worktree import prepare_worktree

REPORTED = [
    ("fatal: Unable to create '/p/.git/index.lock': File exists.\n\nAnother git process", Code.GIT_LOCKED),
    ("fatal: update_ref failed: cannot lock ref 'refs/heads/x': is at aa but expected bb", Code.GIT_LOCKED),
    ("error: object file .git/objects/aa/bb is empty\nfatal: loose object aabb is corrupt", Code.GIT_CORRUPT),
    ("fatal: bad object HEAD", Code.GIT_CORRUPT),
    ("fatal: unable to read tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904", Code.GIT_CORRUPT),
    ("fatal: bad config line 3 in file /p/.git/config", Code.GIT_CORRUPT),
    ("fatal: bad boolean config value 'x' for 'core.safecrlf'", Code.GIT_CORRUPT),
    ("fatal: not a git repository: '/p/.git'", Code.GIT_CORRUPT),
    ("error: file write error: No space left on device\nfatal: unable to write", Code.DISK_FULL),
    ("fatal: cannot create directory at 'x': Read-only file system", Code.WORKSPACE_WRITE_FAILED),
    ("error: insufficient permission for adding an object: Permission denied", Code.WORKSPACE_WRITE_FAILED),
    ("error: insufficient permission for adding an object to repository", Code.WORKSPACE_WRITE_FAILED),
    ("fatal: 'ostler/x' is already checked out at '/p'", Code.BRANCH_EXISTS),
    ("fatal: 'ostler/x' is already used by worktree at '/p'", Code.BRANCH_EXISTS),
    ("fatal: a branch named 'ostler/x' already exists", Code.BRANCH_EXISTS),
    ("fatal: detected dubious ownership in repository at '/p'", Code.USAGE),
    ("fatal: something nobody has seen", Code.UNKNOWN),
    ("", Code.UNKNOWN),
]


@pytest.mark.parametrize(("printed", "code"), REPORTED)
def test_complaints_have_codes(printed: str, code: Code):
    """Each message of git has its code, and the sentence names the path."""
    error = classify_failure(("add",), printed.encode(), Path("/some/place"))
    assert error.code is code
    assert "/some/place" in error.message + error.hint or code in (Code.GIT_LOCKED, Code.BRANCH_EXISTS)
    assert "{" not in error.message + error.hint


def test_braces_in_a_message_are_text():
    """Text that git quotes from a hostile name is never formatted."""
    assert (
        "{place.__class__}"
        in classify_failure(("add",), b"fatal: bad object {place.__class__}", Path("/p")).message
    )


def test_the_lock_is_found_with_quotes_in_its_name():
    """A path may contain quotes and spaces."""
    printed = b"fatal: Unable to create '/it's here/.git/index.lock': File exists.\n"
    assert find_lock_file(printed) == Path("/it's here/.git/index.lock")
    assert find_lock_file(b"fatal: other") is None


def test_bad_configuration_is_a_sentence(tmp_path: Path):
    """An unreadable configuration is an error with the wrong line."""
    world = make_world(tmp_path)
    repository = world.repository
    (world.project / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitError) as caught:
        run_git(repository, "status")
    assert caught.value.code is Code.GIT_CORRUPT
    assert "bad config line 1" in caught.value.message


def test_a_missing_directory_and_a_missing_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A missing worktree is WORKTREE_LOST; a missing git gives a message with what to install."""
    world = make_world(tmp_path)
    with pytest.raises(GitError) as caught:
        execute_git(("status",), {"PATH": program.search_path()}, tmp_path / "missing")
    assert caught.value.code is Code.WORKTREE_LOST
    repository = world.repository
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError) as caught:
        run_git(repository, "status")
    assert "not installed" in caught.value.message and caught.value.exit == 2


def test_files_that_cannot_be_used_have_codes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A full disk or a missing directory has the same code whether Ostler or git meets it."""
    world = make_world(tmp_path)
    repository = world.repository
    worktree = world.prepare()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/p")

    monkeypatch.setattr("ostler.git.commit.index.shutil.copy2", full)
    with pytest.raises(GitError) as caught:
        commit_step(worktree)
    assert caught.value.code is Code.DISK_FULL
    shutil.rmtree(world.project / ".git")
    with pytest.raises(GitError) as caught:
        prepare_worktree(repository, tmp_path / "w" / "t", "ostler/t", "0" * 40, "t")
    assert caught.value.code is Code.GIT_CORRUPT


def test_a_git_that_hangs_is_stopped(tmp_path: Path):
    """A pipe at the path of a file that git reads ends in an error after the timeout."""
    world: World = make_world(tmp_path)
    git(world.project, "config", "core.excludesFile", str(tmp_path / "pipe"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(GitError) as caught:
        run_git(world.repository, "status", timeout_seconds=0.3)
    assert "took longer than 0.3 s" in caught.value.message
