"""The changes of a task, including uncommitted files: patches, file lists and statistics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ostler.git.commit.heads import read_heads
from ostler.git.commit.index import index_environment, private_index
from ostler.git.commit.pending import PendingChanges, find_pending
from ostler.git.commit.snapshot import take_snapshot
from ostler.git.refs import resolve_tree
from ostler.git.repository import Repository, Worktree
from ostler.git.run.command import run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.worktree.registration import require_worktree
from ostler.model.change import FileChange
from ostler.model.outcome import DiffStat

_DIFF_TREE = ("diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_LIST_FILES = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--numstat", "-z")
_LIST_NAMES = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--name-only", "-z")
_LIST_COMMITS = ("rev-list", "--topo-order", "--format=%h %s")


def diff_commits(repository: Repository, base: str, tip: str) -> bytes:
    """Return the patch between two commits or trees."""
    return run_git(
        repository,
        *_DIFF_TREE,
        *("-p", "--end-of-options", base, tip, "--"),
        settings={"core.quotePath": "false"},
        timeout_seconds=300,
    ).stdout


def list_changed_files(repository: Repository, base: str, tip: str) -> tuple[str, ...]:
    """Return the paths that differ between two commits; a renamed file has its new name."""
    output = run_git(
        repository, *_DIFF_TREE, "--name-only", "-z", "--end-of-options", base, tip, "--", timeout_seconds=300
    )
    return tuple(path.decode("utf-8", "replace") for path in output.stdout.split(b"\0") if path)


def list_touched_files(repository: Repository, base: str, tip: str) -> tuple[str, ...]:
    """Return the paths that differ between two commits, both names of a renamed file included."""
    output = run_git(repository, *_LIST_NAMES, "--end-of-options", base, tip, "--", timeout_seconds=300)
    return tuple(path.decode("utf-8", "replace") for path in output.stdout.split(b"\0") if path)


def read_diff_stat(repository: Repository, base: str, tip: str) -> DiffStat:
    """Return the size of the change between two commits or trees."""
    output = run_git(
        repository, *_DIFF_TREE, "--numstat", "-z", "--end-of-options", base, tip, "--", timeout_seconds=300
    )
    return _sum_lines(field for field in output.stdout.split(b"\0") if field.count(b"\t") >= 2)


def _sum_lines(lines: Iterable[bytes]) -> DiffStat:
    """Return the size of a change from the lines of --numstat."""
    counts = [line.split(b"\t") for line in lines]
    return DiffStat(
        files=len(counts),
        insertions=sum(int(count[0]) for count in counts if count[0] != b"-"),
        deletions=sum(int(count[1]) for count in counts if count[1] != b"-"),
    )


def read_diff_stats(repository: Repository, ends: Sequence[tuple[str, str]]) -> list[DiffStat]:
    """Return the sizes of many changes, each between a base and a tip, from one process."""
    lines = "".join(f"{tip} {base}\n" for base, tip in ends).encode()
    options = ("--stdin", "--always", "--numstat")
    output = run_git(repository, *_DIFF_TREE, *options, stdin=lines, timeout_seconds=300)
    changes: list[list[bytes]] = []
    for line in output.stdout.splitlines():
        if b"\t" in line:
            changes[-1].append(line)
        elif line:
            changes.append([])
    return [_sum_lines(change) for change in changes]


def diff_worktree(worktree: Worktree) -> bytes:
    """Return the patch from the task's base to its current files."""
    return diff_commits(worktree.repository, worktree.base, write_current_tree(worktree))


@with_git_errors
def has_changed_since(worktree: Worktree, since: str) -> bool:
    """Return whether a commit was made or a file changed after this commit."""
    require_worktree(worktree)
    heads = read_heads(worktree)
    if heads.tip != since or heads.head != since:
        return True
    with private_index(worktree) as index:
        pending = find_pending(worktree, index)
        return bool(pending.written or pending.replaced) or _is_staged(worktree, index, since)


def _is_staged(worktree: Worktree, index: Path, since: str) -> bool:
    tree = run_git(worktree.repository, "write-tree", env=index_environment(index)).stdout.decode().strip()
    return tree != resolve_tree(worktree.repository, since)


@with_git_errors
def write_current_tree(worktree: Worktree) -> str:
    """Write the current files as a tree and return it; the worktree's index is not changed."""
    require_worktree(worktree)
    with private_index(worktree) as index:
        return take_snapshot(worktree, index).tree


def find_changed_tree(worktree: Worktree, commit: str) -> str:
    """Return the tree of the current files; empty if they are those of this commit."""
    require_worktree(worktree)
    with private_index(worktree) as index:
        if _has_tree_of(worktree, index, commit) and find_pending(worktree, index) == PendingChanges():
            return ""
        tree = take_snapshot(worktree, index).tree
    return "" if tree == resolve_tree(worktree.repository, commit) else tree


def _has_tree_of(worktree: Worktree, index: Path, commit: str) -> bool:
    """Return whether the index has the files of a commit; those of the worktree may differ."""
    args = ("diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", commit, "--")
    env = index_environment(index)
    return run_git(worktree.repository, *args, env=env, accept=(0, 1, 128)).status == 0


def list_changes(worktree: Worktree) -> tuple[FileChange, ...]:
    """Return the files that differ from the task's base, including uncommitted ones."""
    trees = (worktree.base, write_current_tree(worktree))
    output = run_git(
        worktree.repository, *_LIST_FILES, "--end-of-options", *trees, "--", timeout_seconds=300
    ).stdout
    return tuple(_parse_change(line) for line in output.split(b"\0")[:-1])


def list_commits(worktree: Worktree, limit: int) -> tuple[str, ...]:
    """Return the newest commits since the base, each as an abbreviated id and its subject."""
    heads = read_heads(worktree)
    ends = (heads.tip, heads.head, f"^{worktree.base}")
    output = run_git(worktree.repository, *_LIST_COMMITS, f"--max-count={limit}", *ends, "--").stdout
    return tuple(output.decode("utf-8", "replace").split("\n")[1::2])


def _parse_change(line: bytes) -> FileChange:
    insertions, deletions, path = line.split(b"\t", 2)
    return FileChange(os.fsdecode(path), _parse_count(insertions), _parse_count(deletions))


def _parse_count(lines: bytes) -> int | None:
    return None if lines == b"-" else int(lines)
