"""Writes the files of a worktree as a git tree, independent of the state of its index and HEAD."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.git.commit.exclude import list_staged_placed_files
from ostler.git.commit.filters import build_filter_settings
from ostler.git.commit.index import index_environment
from ostler.git.commit.pending import DEFAULT_EXCLUDES, PendingChanges, find_pending, make_readable
from ostler.git.repository import Worktree
from ostler.git.run.command import LONG_SECONDS, encode_names, run_git


class Snapshot(Struct, frozen=True):
    tree: str
    nested: tuple[str, ...] = ()  # repositories inside the worktree, not in the tree


def take_snapshot(worktree: Worktree, index: Path, exclude: tuple[str, ...] = DEFAULT_EXCLUDES) -> Snapshot:
    """Update the index to the current files and write its tree."""
    pending = find_pending(worktree, index, exclude)
    _stage(worktree, index, pending)
    if pending.may_be_placed:
        placed = list_staged_placed_files(
            worktree.repository, worktree.base, index_environment(index), exclude
        )
        _unstage(worktree, index, placed)
    tree = run_git(worktree.repository, "write-tree", env=index_environment(index)).stdout.decode().strip()
    return Snapshot(tree, tuple(path.rstrip("/") for path in pending.nested))


def _stage(worktree: Worktree, index: Path, pending: PendingChanges) -> None:
    _unstage(worktree, index, pending.replaced)
    if pending.written:
        make_readable(worktree.path, pending.written)
        settings = build_filter_settings(worktree.repository, pending.written, index_environment(index))
        run_git(
            worktree.repository,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            stdin=encode_names(pending.written),
            env=index_environment(index),
            settings=settings,
            timeout_seconds=LONG_SECONDS,
        )


def _unstage(worktree: Worktree, index: Path, names: tuple[str, ...]) -> None:
    if names:
        remove = ("update-index", "--force-remove", "-z", "--stdin")
        run_git(worktree.repository, *remove, stdin=encode_names(names), env=index_environment(index))
