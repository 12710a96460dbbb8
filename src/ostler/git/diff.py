"""What a task changed: as a patch, as figures, as yes or no; uncommitted work included."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.git.command import run
from ostler.git.failure import with_git_errors
from ostler.git.head import read_heads
from ostler.git.index import private_index, using
from ostler.git.pending import find_pending
from ostler.git.registration import require
from ostler.git.repository import Repository, Worktree
from ostler.git.snapshot import take_snapshot, tree_of

_SAFE = ("diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")


class DiffStat(Struct, frozen=True):
    """The size of a change; a binary file counts as a file without lines."""

    files: int = 0
    insertions: int = 0
    deletions: int = 0


def diff(repository: Repository, base: str, tip: str) -> bytes:
    """The patch from one commit or tree to another."""
    return run(repository, *_SAFE, "-p", "--end-of-options", base, tip, "--", timeout_seconds=300).stdout


def changed_files(repository: Repository, base: str, tip: str) -> tuple[str, ...]:
    """The paths that differ between two commits; a renamed file by its new name, a deleted one by its old."""
    answer = run(
        repository, *_SAFE, "--name-only", "-z", "--end-of-options", base, tip, "--", timeout_seconds=300
    )
    return tuple(path.decode("utf-8", "replace") for path in answer.stdout.split(b"\0") if path)


def diff_stat(repository: Repository, base: str, tip: str) -> DiffStat:
    """How large the change from one commit or tree to another is."""
    answer = run(
        repository, *_SAFE, "--numstat", "-z", "--end-of-options", base, tip, "--", timeout_seconds=300
    )
    counts = [field.split(b"\t") for field in answer.stdout.split(b"\0") if field.count(b"\t") >= 2]
    return DiffStat(
        files=len(counts),
        insertions=sum(int(count[0]) for count in counts if count[0] != b"-"),
        deletions=sum(int(count[1]) for count in counts if count[1] != b"-"),
    )


def diff_worktree(worktree: Worktree) -> bytes:
    """The patch from the task's base to its files as they are now."""
    return diff(worktree.repository, worktree.base, current_tree(worktree))


@with_git_errors
def changed(worktree: Worktree, since: str) -> bool:
    """Whether a commit was made, or a file written, after this commit."""
    require(worktree)
    heads = read_heads(worktree)
    if heads.tip != since or heads.head != since:
        return True
    with private_index(worktree) as index:
        pending = find_pending(worktree, index)
        return bool(pending.written or pending.replaced) or _is_staged(worktree, index, since)


def _is_staged(worktree: Worktree, index: Path, since: str) -> bool:
    tree = run(worktree.repository, "write-tree", env=using(index)).stdout.decode().strip()
    return tree != tree_of(worktree, since)


@with_git_errors
def current_tree(worktree: Worktree) -> str:
    """The worktree's files as a tree in the repository; its own index is left as it is."""
    require(worktree)
    with private_index(worktree) as index:
        return take_snapshot(worktree, index).tree
