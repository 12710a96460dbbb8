"""Checkpoints: everything in a worktree as one commit on the task's branch, once for each step."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.git import lock
from ostler.git.command import run
from ostler.git.failure import with_git_errors
from ostler.git.head import Heads, attach, move_branch, parents_of_next, read_heads
from ostler.git.identity import Identity
from ostler.git.index import private_index, using
from ostler.git.pending import EXCLUDE
from ostler.git.registration import require
from ostler.git.repository import Worktree
from ostler.git.snapshot import Snapshot, take_snapshot, tree_of
from ostler.git.trailers import find_commit, write_message

STEP = "Step"
_UNFINISHED = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_UNFINISHED_DIRECTORIES = ("rebase-merge", "rebase-apply", "sequencer")
_log = logging.getLogger(__name__)


class Checkpoint(Struct, frozen=True):
    """The commit that stands for a step."""

    commit: str
    tree: str
    adopted: bool = False  # it was there already: made before a crash
    warnings: tuple[str, ...] = ()


@with_git_errors
def checkpoint(
    worktree: Worktree,
    subject: str,
    trailers: Mapping[str, str],
    who: Identity,
    exclude: tuple[str, ...] = EXCLUDE,
) -> Checkpoint:
    """Commit all that the worktree holds on top of the task's branch, once for each Step trailer."""
    require(worktree)
    with lock.hold(worktree.repository.git_dir) as held:
        heads = read_heads(worktree)
        made = find_commit(worktree.repository, worktree.base, heads.tip, STEP, trailers[STEP])
        if made is not None:
            _settle(worktree, heads)
            return Checkpoint(made, tree_of(worktree, made), adopted=True)
        commit, tree, nested = _write(worktree, heads, write_message(subject, trailers), who, exclude)
        # A kill before this line leaves everything staged and no commit; after it, a commit to adopt.
        move_branch(worktree, heads, commit, who, keep=(held,))
        _settle(worktree, heads)
        return Checkpoint(commit, tree, warnings=tuple(_warn_of(path) for path in nested))


def _write(
    worktree: Worktree, heads: Heads, message: bytes, who: Identity, exclude: tuple[str, ...]
) -> tuple[str, str, tuple[str, ...]]:
    """A commit of all that no branch has yet, its tree, and the nested repositories that it leaves out."""
    with private_index(worktree) as index:
        snapshot = take_snapshot(worktree, index, exclude)
        parents = parents_of_next(worktree, heads)
        tree = _forward(worktree, heads, parents, snapshot, index)
        commit = _write_commit(worktree, tree, parents, message, who)
        _use_index(worktree, index)
    return commit, tree, snapshot.nested


def _forward(
    worktree: Worktree, heads: Heads, parents: tuple[str, ...], snapshot: Snapshot, index: Path
) -> str:
    """The tree to commit. An agent that only looked at an older commit has not undone its own work."""
    stepped_back = parents == (heads.tip,) and heads.head != heads.tip
    if not stepped_back or snapshot.tree != tree_of(worktree, heads.head):
        return snapshot.tree
    run(worktree.repository, "read-tree", "-m", "-u", heads.head, heads.tip, env=using(index))
    return tree_of(worktree, heads.tip)


def _write_commit(
    worktree: Worktree, tree: str, parents: tuple[str, ...], message: bytes, who: Identity
) -> str:
    follows = [word for parent in parents for word in ("-p", parent)]
    args = ("commit-tree", tree, *follows, "-F", "-")
    return run(worktree.repository, *args, stdin=message, env=who.environment()).stdout.decode().strip()


def _use_index(worktree: Worktree, index: Path) -> None:
    git_dir = worktree.repository.git_dir
    lock.clear(git_dir / "index.lock", worktree.repository)
    index.replace(git_dir / "index")


def _settle(worktree: Worktree, heads: Heads) -> None:
    """Leave no merge or rebase half done and no HEAD elsewhere for whoever works here next."""
    for name in _UNFINISHED:
        (worktree.repository.git_dir / name).unlink(missing_ok=True)
    for name in _UNFINISHED_DIRECTORIES:
        shutil.rmtree(worktree.repository.git_dir / name, ignore_errors=True)
    if not heads.attached:
        attach(worktree)


def _warn_of(path: str) -> str:
    _log.warning("%s is a repository of its own and was not committed", path)
    return f"{path} is a repository of its own and was not committed"
