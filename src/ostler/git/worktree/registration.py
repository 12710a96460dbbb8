"""Reads and repairs the registration of a worktree in the repository and in the worktree itself."""

from __future__ import annotations

import os
import shutil
import stat
from enum import StrEnum
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.repository import Worktree
from ostler.git.worktree.trash import discard
from ostler.lazy import lazy_pattern

INCOMPLETE_REASON = "initializing"  # reason of the lock that `git worktree add` holds
_HEAD = lazy_pattern(rb"ref: refs/[^\s]+\n?|[0-9a-f]{40}([0-9a-f]{24})?\n?")


class WorktreeState(StrEnum):
    """The state of a worktree."""

    ABSENT = "absent"
    INCOMPLETE = "half made"  # left by a killed `git worktree add`; no agent used it
    LOST = "lost"  # registered, but its directory is missing or empty
    UNREGISTERED = "unregistered"  # a directory with files that is not registered
    NAME_TAKEN = "taken"  # another worktree has this name
    COMPLETE = "whole"


def inspect_worktree(worktree: Worktree) -> WorktreeState:
    """Return the state from both sides of a worktree, without running git."""
    git_dir = worktree.repository.git_dir
    if not git_dir.is_dir():
        return WorktreeState.ABSENT if is_empty(worktree.path) else WorktreeState.UNREGISTERED
    if _read(git_dir / "locked").startswith(INCOMPLETE_REASON.encode()):
        return WorktreeState.INCOMPLETE
    if _is_taken(worktree):
        return WorktreeState.NAME_TAKEN
    return WorktreeState.LOST if is_empty(worktree.path) else WorktreeState.COMPLETE


def require_worktree(worktree: Worktree) -> None:
    """Repair the pointers of a worktree. Raises WORKTREE_LOST or GIT_CORRUPT if one side of it is missing."""
    git_dir, next_step = worktree.repository.git_dir, "its commits are kept; run the task again"
    if is_empty(worktree.path):
        raise GitError(Code.WORKTREE_LOST, f"the worktree {worktree.path} does not exist", next_step)
    if not os.path.lexists(git_dir):
        message = f"the worktree {worktree.path} is not registered: {git_dir} does not exist"
        raise GitError(Code.WORKTREE_LOST, message, next_step)
    if not git_dir.is_dir():
        message = f"the worktree {worktree.path} is not registered: {git_dir} is not a directory"
        raise GitError(Code.GIT_CORRUPT, message, next_step)
    restore_pointers(worktree)


def restore_pointers(worktree: Worktree) -> bool:
    """Repair the files that connect worktree and repository; return whether one was wrong."""
    git_dir = worktree.repository.git_dir
    expected = {
        worktree.path / ".git": f"gitdir: {git_dir}\n",
        git_dir / "gitdir": f"{worktree.path / '.git'}\n",
        git_dir / "commondir": "../..\n",
    }
    if not _HEAD.fullmatch(_read(git_dir / "HEAD")):
        expected[git_dir / "HEAD"] = f"ref: {worktree.ref}\n"
    wrong = {file: os.fsencode(text) for file, text in expected.items() if _read(file) != os.fsencode(text)}
    for file, content in wrong.items():
        _write_pointer(file, content, worktree)
    return bool(wrong)


def register_worktree(worktree: Worktree, *, is_complete: bool = True) -> None:
    """Register a directory as the task's worktree; one without its files is locked until it is complete."""
    worktree.repository.git_dir.mkdir(parents=True)
    if not is_complete:
        (worktree.repository.git_dir / "locked").write_text(INCOMPLETE_REASON)
        worktree.path.mkdir(exist_ok=True)
    restore_pointers(worktree)


def has_pointer(worktree: Worktree) -> bool:
    """Return whether the directory was the worktree of this name, also in a project that was moved."""
    pointer = _read(worktree.path / ".git").rstrip(b"\n")
    name = os.fsencode(worktree.repository.git_dir.name)
    return pointer.startswith(b"gitdir: ") and pointer.endswith(b"/" + name)


def unregister_worktree(worktree: Worktree) -> None:
    """Remove one registration. `git worktree prune` would also remove missing worktrees of the user."""
    git_dir = worktree.repository.git_dir
    if git_dir.is_symlink():
        git_dir.unlink()
    elif git_dir.is_dir():
        shutil.rmtree(git_dir)


def is_empty(directory: Path) -> bool:
    """Return whether the path is not a directory or has no entries."""
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return True


def _is_taken(worktree: Worktree) -> bool:
    """Return whether another directory has this name and points back: not a copied or moved project."""
    git_dir = worktree.repository.git_dir
    other = Path(os.fsdecode(_read(git_dir / "gitdir")).rstrip("\n"))
    if other == worktree.path / ".git" or not other.is_absolute():
        return False
    return _read(other).rstrip(b"\n") == b"gitdir: " + os.fsencode(git_dir)


def _read(file: Path) -> bytes:
    """Return the content of a small regular file; empty for anything else."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return b""
        with file.open("rb") as opened:
            return opened.read(8192)
    except OSError:
        return b""


def _write_pointer(file: Path, content: bytes, worktree: Worktree) -> None:
    if file.is_dir() and not file.is_symlink():
        discard(file, worktree.path.parent)
    new_file = worktree.repository.git_dir / "ostler-pointer"
    new_file.unlink(missing_ok=True)
    new_file.write_bytes(content)
    try:
        new_file.replace(file)
    except OSError:  # another file system than the repository
        file.unlink(missing_ok=True)
        file.write_bytes(content)
        new_file.unlink()
