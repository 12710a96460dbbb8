"""What a task did so far, by name: the files that are not as they were, and the commits that were made."""

from __future__ import annotations

import os

from ostler.git.command import run
from ostler.git.diff import current_tree
from ostler.git.head import read_heads
from ostler.git.repository import Worktree
from ostler.model.change import FileChange

_FILES = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--numstat", "-z")
_COMMITS = ("rev-list", "--topo-order", "--format=%h %s")


def list_changes(worktree: Worktree) -> tuple[FileChange, ...]:
    """The files that differ from the task's base now, uncommitted ones included."""
    trees = (worktree.base, current_tree(worktree))
    told = run(worktree.repository, *_FILES, "--end-of-options", *trees, "--", timeout_seconds=300).stdout
    return tuple(_change(line) for line in told.split(b"\0")[:-1])


def list_commits(worktree: Worktree, limit: int) -> tuple[str, ...]:
    """The newest commits since the base, each as a short name and its subject."""
    heads = read_heads(worktree)
    ends = (heads.tip, heads.head, f"^{worktree.base}")
    told = run(worktree.repository, *_COMMITS, f"--max-count={limit}", *ends, "--").stdout
    return tuple(told.decode("utf-8", "replace").split("\n")[1::2])


def _change(line: bytes) -> FileChange:
    insertions, deletions, path = line.split(b"\t", 2)
    return FileChange(os.fsdecode(path), _count(insertions), _count(deletions))


def _count(lines: bytes) -> int | None:
    return None if lines == b"-" else int(lines)
