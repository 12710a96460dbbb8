"""What git keeps about a worktree, in the repository and in the worktree: read, judged and put right."""

from __future__ import annotations

import os
import re
import shutil
import stat
from enum import StrEnum
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.repository import Worktree
from ostler.git.trash import discard

HALF_MADE = "initializing"  # git's own word for a worktree that it has locked while it makes it
_HEAD = re.compile(rb"ref: refs/[^\s]+\n?|[0-9a-f]{40}([0-9a-f]{24})?\n?")


class State(StrEnum):
    """How far a worktree is there."""

    ABSENT = "absent"
    HALF_MADE = "half made"  # a killed `git worktree add`; no agent ever saw it
    LOST = "lost"  # registered, but its directory is gone or empty
    UNREGISTERED = "unregistered"  # a directory with files that git does not know
    TAKEN = "taken"  # the name belongs to a worktree somewhere else
    WHOLE = "whole"


def inspect(worktree: Worktree) -> State:
    """Look at both sides of a worktree without asking git."""
    admin = worktree.repository.git_dir
    if not admin.is_dir():
        return State.ABSENT if is_empty(worktree.path) else State.UNREGISTERED
    if _read(admin / "locked").startswith(HALF_MADE.encode()):
        return State.HALF_MADE
    if _is_taken(worktree):
        return State.TAKEN
    return State.LOST if is_empty(worktree.path) else State.WHOLE


def require(worktree: Worktree) -> None:
    """Raise WORKTREE_LOST unless there is a worktree to work on; put its pointers right."""
    if not worktree.repository.git_dir.is_dir() or is_empty(worktree.path):
        message = f"the worktree {worktree.path} disappeared"
        raise GitError(Code.WORKTREE_LOST, message, "its commits are kept; run the task again")
    restore_pointer(worktree)


def restore_pointer(worktree: Worktree) -> bool:
    """Give the files that lead git from here to there the bytes they must have; True when one had not."""
    admin = worktree.repository.git_dir
    wanted = {
        worktree.path / ".git": f"gitdir: {admin}\n",
        admin / "gitdir": f"{worktree.path / '.git'}\n",
        admin / "commondir": "../..\n",
    }
    if not _HEAD.fullmatch(_read(admin / "HEAD")):
        wanted[admin / "HEAD"] = f"ref: {worktree.ref}\n"
    wrong = {file: os.fsencode(text) for file, text in wanted.items() if _read(file) != os.fsencode(text)}
    for file, content in wrong.items():
        _put(file, content, worktree)
    return bool(wrong)


def register(worktree: Worktree) -> None:
    """Make a directory with files the task's worktree again, after its registration was lost."""
    worktree.repository.git_dir.mkdir(parents=True)
    restore_pointer(worktree)


def unregister(worktree: Worktree) -> None:
    """Forget one worktree. `git worktree prune` would forget the user's missing ones as well."""
    admin = worktree.repository.git_dir
    if admin.is_symlink():
        admin.unlink()
    elif admin.is_dir():
        shutil.rmtree(admin)


def is_empty(directory: Path) -> bool:
    """Whether there is nothing at a path: no directory, or one without entries."""
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return True


def _is_taken(worktree: Worktree) -> bool:
    """Another directory is registered under this name, and it points back: not a copied or moved project."""
    admin = worktree.repository.git_dir
    other = Path(os.fsdecode(_read(admin / "gitdir")).rstrip("\n"))
    if other == worktree.path / ".git" or not other.is_absolute():
        return False
    return _read(other).rstrip(b"\n") == b"gitdir: " + os.fsencode(admin)


def _read(file: Path) -> bytes:
    """A small regular file's bytes; nothing for what is missing, linked elsewhere or not a file."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return b""
        with file.open("rb") as opened:
            return opened.read(8192)
    except OSError:
        return b""


def _put(file: Path, content: bytes, worktree: Worktree) -> None:
    if file.is_dir() and not file.is_symlink():
        discard(file, worktree.path.parent)
    fresh = worktree.repository.git_dir / "ostler-pointer"
    fresh.unlink(missing_ok=True)
    fresh.write_bytes(content)
    try:
        fresh.replace(file)
    except OSError:  # the worktree is on another file system than the repository
        file.unlink(missing_ok=True)
        file.write_bytes(content)
        fresh.unlink()
