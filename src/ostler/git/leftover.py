"""What a checkout that was cut off half way left: some files new, the others old, and nothing else."""

from __future__ import annotations

from ostler.git.command import run
from ostler.git.index import private_index
from ostler.git.repository import Worktree
from ostler.git.snapshot import take_snapshot


def is_half_checked_out(worktree: Worktree, old: str, new: str) -> bool:
    """Whether every file is as one of the two commits has it, so that nobody's work can be lost."""
    with private_index(worktree) as index:
        now = take_snapshot(worktree, index).tree
    return _changes(worktree, old, now) <= _changes(worktree, old, new)


def _changes(worktree: Worktree, old: str, new: str) -> set[bytes]:
    args = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", old, new, "--")
    fields = run(worktree.repository, *args, timeout_seconds=300).stdout.split(b"\0")
    return {b"\0".join(pair) for pair in zip(fields[::2], fields[1::2], strict=False)}
