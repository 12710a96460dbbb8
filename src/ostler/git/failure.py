"""Git's complaints, turned into codes and sentences; the one place that reads them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from msgspec import Struct

from ostler.errors import Code, GitError

P = ParamSpec("P")
R = TypeVar("R")


class _Complaint(Struct, frozen=True):
    says: str  # a pattern, whatever its case; compiled when git first complains
    code: Code
    sentence: str  # {place} and {line} are filled in
    hint: str = ""


_COMPLAINTS = (
    _Complaint(
        r"dubious ownership",
        Code.USAGE,
        "git does not trust {place}, because it belongs to another user",
        'git config --global --add safe.directory "{place}"',
    ),
    _Complaint(
        r"no space left on device|disk quota exceeded|out of diskspace",
        Code.DISK_FULL,
        "the disk of {place} is full: {line}",
        "free some space; the work goes on",
    ),
    _Complaint(
        r"input/output error|couldn't write '|fsync error",
        Code.STORAGE_ERROR,
        "the disk of {place} would not keep what git wrote: {line}",
        "check the disk and the space on it",
    ),
    _Complaint(
        r"cannot fork|unable to create (async )?thread|cannot allocate memory|too many open files",
        Code.SPAWN_FAILED,
        "the machine is short of processes, memory or files for git in {place}: {line}",
        "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs",
    ),
    _Complaint(
        r"\.lock': file exists|cannot lock ref .* but expected", Code.GIT_LOCKED, "git is busy: {line}"
    ),
    _Complaint(
        r"already checked out at|is already used by worktree",
        Code.BRANCH_EXISTS,
        "the task's branch is checked out elsewhere: {line}",
        "switch that checkout to another branch",
    ),
    _Complaint(
        r"a branch named .* already exists|exists; cannot create|reference already exists",
        Code.BRANCH_EXISTS,
        "the task's branch cannot be made in {place}: {line}",
        "rename that branch, or set git.branch_prefix",
    ),
    _Complaint(
        r"external filter .* failed|clean filter .* failed",
        Code.LFS_UNAVAILABLE,
        "git-lfs did not take a file in {place}: {line}",
        "git lfs status shows more",
    ),
    _Complaint(
        r"transport '.*' not allowed|promisor remote|lazy fetching disabled",
        Code.GIT_CORRUPT,
        "{place} is a partial clone, and objects that are needed are not on this machine",
        "git fetch --refetch --no-filter",
    ),
    _Complaint(
        r"bad (boolean |numeric )?config|unable to parse|maximum include depth|could not read config",
        Code.GIT_CORRUPT,
        "the git configuration of {place} cannot be read: {line}",
        "git config --list --show-origin shows where",
    ),
    _Complaint(
        r"not a git repository",
        Code.GIT_CORRUPT,
        "the git repository of {place} is gone or damaged: {line}",
        "restore its .git directory",
    ),
    _Complaint(
        r"read-only file system|permission denied|operation not permitted",
        Code.WORKSPACE_WRITE_FAILED,
        "git may not write in {place}: {line}",
        "check who owns the files there",
    ),
    _Complaint(
        r"is corrupt|corrupted|object file .* is empty|bad (tree |index )?(object|file|signature)"
        r"|unable to read|missing (blob|tree|commit|object)|invalid object"
        r"|inflate|unable to unpack|smaller than expected|could not parse|unable to find|broken"
        r"|not a valid object|failed to read|error building trees",
        Code.GIT_CORRUPT,
        "the git repository of {place} is damaged: {line}",
        "git fsck --full shows what is wrong",
    ),
)
_LOCK = r"unable to create '(.+\.lock)': file exists"
_BROKEN_INDEX = rb"index file|bad signature|bad index|index uses|unordered stage|unknown index"


def explain(args: tuple[str, ...], stderr: bytes, place: Path) -> GitError:
    """The error for a git command that failed at a place."""
    text = os.fsdecode(stderr)
    line = _telling_line(text)
    for complaint in _COMPLAINTS:
        if re.search(complaint.says, text, re.IGNORECASE):
            words = {"place": str(place), "line": line}
            return GitError(
                complaint.code, complaint.sentence.format(**words), complaint.hint.format(**words)
            )
    return GitError(Code.UNKNOWN, f"git {args[0]} failed in {place}: {line or 'it said nothing'}")


def with_git_errors(act: Callable[P, R]) -> Callable[P, R]:
    """Let a function that handles git's files itself fail with the same codes as git would."""

    @wraps(act)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return act(*args, **kwargs)
        except OSError as refused:
            raise _explain_refusal(refused) from refused

    return guarded


def lock_in_the_way(stderr: bytes) -> Path | None:
    """The lock file that another git process holds or left, if that is why a command failed."""
    found = re.search(_LOCK, os.fsdecode(stderr), re.IGNORECASE)
    return Path(found[1]) if found else None


def is_broken_index(stderr: bytes) -> bool:
    return re.search(_BROKEN_INDEX, stderr) is not None


def _explain_refusal(refused: OSError) -> GitError:
    where = f"{refused.filename}: {refused.strerror}"
    match refused.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return GitError(
                Code.DISK_FULL, f"the disk is full: {where}", "make room, then run the task again"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return GitError(Code.GIT_CORRUPT, f"a part of the git repository is gone: {where}", "restore it")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            hint = "check who owns the files there"
            return GitError(Code.WORKSPACE_WRITE_FAILED, f"a file may not be written: {where}", hint)
        case errno.EMFILE | errno.ENFILE | errno.ENOMEM | errno.EAGAIN:
            return GitError(Code.SPAWN_FAILED, f"the machine has no room: {where}", "lower run.jobs")
        case _:
            return GitError(Code.STORAGE_ERROR, f"a file could not be used: {where}", "check the disk")


def _telling_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(marked or lines), "")
