"""The content of a worktree as a git tree, whatever state its index, HEAD and files were left in."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.git.command import LONG_SECONDS, as_stdin, run
from ostler.git.exclude import list_placed
from ostler.git.filters import settings_for_filters
from ostler.git.index import using
from ostler.git.obstacles import make_readable
from ostler.git.pending import EXCLUDE, Pending, find_pending
from ostler.git.repository import Worktree


class Snapshot(Struct, frozen=True):
    tree: str
    nested: tuple[str, ...] = ()  # repositories inside the worktree that are not in the tree


def take_snapshot(worktree: Worktree, index: Path, exclude: tuple[str, ...] = EXCLUDE) -> Snapshot:
    """Bring an index to what the files are, and write its tree."""
    pending = find_pending(worktree, index, exclude)
    _stage(worktree, index, pending)
    _unstage(worktree, index, list_placed(worktree.repository, worktree.base, using(index), exclude))
    tree = run(worktree.repository, "write-tree", env=using(index)).stdout.decode().strip()
    return Snapshot(tree, tuple(path.rstrip("/") for path in pending.nested))


def tree_of(worktree: Worktree, commit: str) -> str:
    """The tree of a commit."""
    args = ("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    return run(worktree.repository, *args).stdout.decode().strip()


def _stage(worktree: Worktree, index: Path, pending: Pending) -> None:
    _unstage(worktree, index, pending.replaced)
    if pending.written:
        make_readable(worktree.path, pending.written)
        settings = settings_for_filters(worktree.repository, pending.written, using(index))
        run(
            worktree.repository,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            stdin=as_stdin(pending.written),
            env=using(index),
            settings=settings,
            timeout_seconds=LONG_SECONDS,
        )


def _unstage(worktree: Worktree, index: Path, names: tuple[str, ...]) -> None:
    if names:
        remove = ("update-index", "--force-remove", "-z", "--stdin")
        run(worktree.repository, *remove, stdin=as_stdin(names), env=using(index))
