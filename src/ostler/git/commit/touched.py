"""Finds out whether anything in a worktree was written since a moment, by the clock of its file system."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from ostler.git.commit.pending import DEFAULT_EXCLUDES
from ostler.git.repository import Worktree
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors

_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


@with_git_errors
def has_touched(worktree: Worktree, since_ns: int) -> bool:
    """Return whether a file that a commit can contain, or a directory of one, was written since then.

    A file that was written with the same content counts too, and so does a deleted one: its directory was
    written.
    """
    exclude = (f"--exclude={pattern}" for pattern in DEFAULT_EXCLUDES)
    listed = run_git(worktree.repository, *_LIST, *exclude, timeout_seconds=LONG_SECONDS).stdout
    names = [os.fsdecode(name) for name in listed.split(b"\0")[:-1]]
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    return any(_is_newer(worktree, name, since_ns) for name in (*names, *folders, "."))


def _is_newer(worktree: Worktree, name: str, since_ns: int) -> bool:
    try:
        return os.lstat(worktree.path / name).st_ctime_ns >= since_ns
    except FileNotFoundError:
        return False  # deleted before, or its directory shows that it was deleted since
