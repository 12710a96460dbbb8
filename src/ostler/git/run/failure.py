"""Classifies the error output of git."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.text import describe_os_error

P = ParamSpec("P")
R = TypeVar("R")
_LOCK = r"unable to create '(.+\.lock)': file exists"
_BROKEN_INDEX = rb"index file|bad signature|bad index|index uses|unordered stage|unknown index"


class _ErrorPattern(Struct, frozen=True):
    regex: str  # case-insensitive; compiled on first use
    code: Code
    message: str  # {path} and {line} are replaced
    hint: str = ""


_ERROR_PATTERNS = (
    _ErrorPattern(
        r"dubious ownership",
        Code.USAGE,
        "git does not trust {path}, because it belongs to another user",
        'git config --global --add safe.directory "{path}"',
    ),
    _ErrorPattern(
        r"no space left on device|disk quota exceeded|out of diskspace",
        Code.DISK_FULL,
        "the disk of {path} is full: {line}",
        "free some space; the task then continues",
    ),
    _ErrorPattern(
        r"input/output error|couldn't write '|fsync error",
        Code.STORAGE_ERROR,
        "the disk of {path} could not store what git wrote: {line}",
        "check the disk and its free space",
    ),
    _ErrorPattern(
        r"cannot fork|unable to create (async )?thread|cannot allocate memory|too many open files",
        Code.SPAWN_FAILED,
        "git in {path} cannot get enough processes, memory or files: {line}",
        "raise the limits with ulimit, or run fewer tasks at once: lower run.jobs",
    ),
    _ErrorPattern(
        r"\.lock': file exists|cannot lock ref .* but expected", Code.GIT_LOCKED, "git is busy: {line}"
    ),
    _ErrorPattern(
        r"already checked out at|is already used by worktree",
        Code.BRANCH_EXISTS,
        "the task's branch is checked out elsewhere: {line}",
        "switch that checkout to another branch",
    ),
    _ErrorPattern(
        r"a branch named .* already exists|exists; cannot create|reference already exists",
        Code.BRANCH_EXISTS,
        "the task's branch cannot be created in {path}: {line}",
        "rename that branch, or set git.branch_prefix",
    ),
    _ErrorPattern(
        r"external filter .* failed|clean filter .* failed",
        Code.LFS_UNAVAILABLE,
        "git-lfs failed on a file in {path}: {line}",
        "run git lfs status",
    ),
    _ErrorPattern(
        r"transport '.*' not allowed|promisor remote|lazy fetching disabled",
        Code.GIT_CORRUPT,
        "{path} is a partial clone, and required objects are missing on this machine",
        "git fetch --refetch --no-filter",
    ),
    _ErrorPattern(
        r"bad (boolean |numeric )?config|unable to parse|maximum include depth|could not read config",
        Code.GIT_CORRUPT,
        "the git configuration of {path} cannot be read: {line}",
        "find the file with git config --list --show-origin",
    ),
    _ErrorPattern(
        r"not a git repository|invalid gitfile format",
        Code.GIT_CORRUPT,
        "the git repository of {path} is missing or damaged: {line}",
        "restore its .git directory",
    ),
    _ErrorPattern(
        r"read-only file system|permission denied|operation not permitted|insufficient permission",
        Code.WORKSPACE_WRITE_FAILED,
        "git cannot write in {path}: {line}",
        "check the owner and the permissions of the files",
    ),
    _ErrorPattern(
        r"is corrupt|corrupted|object file .* is empty|bad (tree |index )?(object|file|signature)"
        r"|unable to read|missing (blob|tree|commit|object)|invalid object"
        r"|inflate|unable to unpack|smaller than expected|could not parse|unable to find|broken"
        r"|not a valid object|failed to read|error building trees",
        Code.GIT_CORRUPT,
        "the git repository of {path} is damaged: {line}",
        "run git fsck --full for details",
    ),
)


def classify_failure(args: tuple[str, ...], stderr: bytes, path: Path) -> GitError:
    """Return the error for a failed git command."""
    text = os.fsdecode(stderr)
    line = _find_error_line(text)
    for pattern in _ERROR_PATTERNS:
        if re.search(pattern.regex, text, re.IGNORECASE):
            fields = {"path": str(path), "line": line}
            return GitError(pattern.code, pattern.message.format(**fields), pattern.hint.format(**fields))
    return GitError(Code.UNKNOWN, f"git {args[0]} failed in {path}: {line or 'no output'}")


def with_git_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Convert OSErrors of a function that handles git's files to GitErrors."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            raise _classify_os_error(error, error.filename or _find_place(args)) from error

    return guarded


def find_lock_file(stderr: bytes) -> Path | None:
    """Return the lock file that made a command fail, or None."""
    found = re.search(_LOCK, os.fsdecode(stderr), re.IGNORECASE)
    return Path(found[1]) if found else None


def is_broken_index(stderr: bytes) -> bool:
    return re.search(_BROKEN_INDEX, stderr) is not None


def _find_place(values: Iterable[object]) -> object:
    """Return the directory that a function works in: an error of a write to an open file names none."""
    for value in values:
        for name in ("path", "git_dir"):
            if place := getattr(value, name, None):
                return place
    return "a file of the git repository"


def _classify_os_error(error: OSError, place: object) -> GitError:
    where = f"{place}: {describe_os_error(error)}"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return GitError(
                Code.DISK_FULL, f"the disk is full: {where}", "free some space, then run the task again"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return GitError(
                Code.GIT_CORRUPT, f"a part of the git repository is missing: {where}", "restore it"
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            hint = "check the owner and the permissions of the files"
            return GitError(Code.WORKSPACE_WRITE_FAILED, f"a file cannot be written: {where}", hint)
        case errno.EMFILE | errno.ENFILE | errno.ENOMEM | errno.EAGAIN:
            return GitError(
                Code.SPAWN_FAILED,
                f"the machine has not enough processes, memory or files: {where}",
                "lower run.jobs",
            )
        case _:
            return GitError(Code.STORAGE_ERROR, f"a file cannot be used: {where}", "check the disk")


def _find_error_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(marked or lines), "")
