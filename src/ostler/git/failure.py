"""Git's complaints, turned into codes and sentences; the one place that reads them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError


class _Complaint(Struct, frozen=True):
    says: re.Pattern[str]
    code: Code
    sentence: str  # {place} and {line} are filled in
    hint: str = ""


def _complaint(says: str, code: Code, sentence: str, hint: str = "") -> _Complaint:
    return _Complaint(re.compile(says, re.IGNORECASE), code, sentence, hint)


_COMPLAINTS = (
    _complaint(
        r"dubious ownership",
        Code.USAGE,
        "git does not trust {place}, because it belongs to another user",
        'git config --global --add safe.directory "{place}"',
    ),
    _complaint(
        r"no space left on device|disk quota exceeded", Code.DISK_FULL, "the disk of {place} is full: {line}"
    ),
    _complaint(
        r"\.lock': file exists|cannot lock ref .* but expected", Code.GIT_LOCKED, "git is busy: {line}"
    ),
    _complaint(
        r"already checked out at|is already used by worktree",
        Code.BRANCH_EXISTS,
        "the task's branch is checked out elsewhere: {line}",
        "switch that checkout to another branch",
    ),
    _complaint(
        r"a branch named .* already exists|exists; cannot create|reference already exists",
        Code.BRANCH_EXISTS,
        "the task's branch cannot be made in {place}: {line}",
        "rename that branch, or set git.branch_prefix",
    ),
    _complaint(
        r"external filter .* failed|clean filter .* failed",
        Code.LFS_UNAVAILABLE,
        "git-lfs did not take a file in {place}: {line}",
        "git lfs status shows more",
    ),
    _complaint(
        r"transport '.*' not allowed|promisor remote|lazy fetching disabled",
        Code.GIT_CORRUPT,
        "{place} is a partial clone, and objects that are needed are not on this machine",
        "git fetch --refetch --no-filter",
    ),
    _complaint(
        r"bad (boolean |numeric )?config|unable to parse|maximum include depth|could not read config",
        Code.GIT_CORRUPT,
        "the git configuration of {place} cannot be read: {line}",
        "git config --list --show-origin shows where",
    ),
    _complaint(
        r"not a git repository",
        Code.GIT_CORRUPT,
        "the git repository of {place} is gone or damaged: {line}",
        "restore its .git directory",
    ),
    _complaint(
        r"read-only file system|permission denied|operation not permitted",
        Code.WORKSPACE_WRITE_FAILED,
        "git may not write in {place}: {line}",
        "check who owns the files there",
    ),
    _complaint(
        r"is corrupt|corrupted|object file .* is empty|bad (tree |index )?(object|file|signature)"
        r"|unable to read|missing (blob|tree|commit|object)|invalid object"
        r"|inflate|unable to unpack|smaller than expected|could not parse|unable to find|broken"
        r"|not a valid object|failed to read|error building trees",
        Code.GIT_CORRUPT,
        "the git repository of {place} is damaged: {line}",
        "git fsck --full shows what is wrong",
    ),
)
_LOCK = re.compile(r"unable to create '(.+\.lock)': file exists", re.IGNORECASE)
_BROKEN_INDEX = re.compile(rb"index file|bad signature|bad index|index uses|unordered stage|unknown index")


def explain(args: tuple[str, ...], stderr: bytes, place: Path) -> GitError:
    """The error for a git command that failed at a place."""
    text = os.fsdecode(stderr)
    line = _telling_line(text)
    for complaint in _COMPLAINTS:
        if complaint.says.search(text):
            words = {"place": str(place), "line": line}
            return GitError(
                complaint.code, complaint.sentence.format(**words), complaint.hint.format(**words)
            )
    return GitError(Code.UNKNOWN, f"git {args[0]} failed in {place}: {line or 'it said nothing'}")


def lock_in_the_way(stderr: bytes) -> Path | None:
    """The lock file that another git process holds or left, if that is why a command failed."""
    found = _LOCK.search(os.fsdecode(stderr))
    return Path(found[1]) if found else None


def is_broken_index(stderr: bytes) -> bool:
    return _BROKEN_INDEX.search(stderr) is not None


def _telling_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(marked or lines), "")
