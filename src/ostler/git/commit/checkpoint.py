"""Checkpoints: commits all files of a worktree once per step, and rewinds the branch to one of them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.files.flush import flush_filesystems
from ostler.git.commit.heads import Heads, attach_head, choose_parents, move_branch, read_heads
from ostler.git.commit.index import index_environment, private_index
from ostler.git.commit.pending import DEFAULT_EXCLUDES
from ostler.git.commit.snapshot import Snapshot, take_snapshot
from ostler.git.commit.trailers import build_message, find_commit_by_trailer
from ostler.git.identity import Identity
from ostler.git.ref_files import flush_refs
from ostler.git.refs import resolve_tree
from ostler.git.repository import Worktree
from ostler.git.run import lock
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.worktree.registration import require_worktree

STEP_TRAILER = "Step"
_UNFINISHED = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_UNFINISHED_DIRECTORIES = ("rebase-merge", "rebase-apply", "sequencer")
_log = logging.getLogger(__name__)


class Checkpoint(Struct, frozen=True):
    """The commit of a step."""

    commit: str
    tree: str
    adopted: bool = False  # made before a crash
    warnings: tuple[str, ...] = ()


@with_git_errors
def create_checkpoint(
    worktree: Worktree,
    subject: str,
    trailers: Mapping[str, str],
    identity: Identity,
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES,
    keep: str = "",
    also: tuple[Path, ...] = (),
) -> Checkpoint:
    """Commit all files of the worktree on the task's branch; the commit of a killed run is adopted.

    `keep` is a ref that is set to the commit too. After the return, a power cut loses neither the commit nor
    the files of the worktree, nor those on the file systems of the directories `also`.
    """
    require_worktree(worktree)
    places = (worktree.path, worktree.repository.common_dir, *also)
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        heads = read_heads(worktree)
        made = _find_made(worktree, heads, trailers[STEP_TRAILER], exclude)
        if made is None:
            made = _write_checkpoint(worktree, heads, build_message(subject, trailers), identity, exclude)
        # All that the commit refers to: git of an agent does not flush the objects that it writes, and a file
        # that was written again with the same content is in no list of changes.
        flush_filesystems(places)
        # A crash before this line leaves staged files and no commit; after it, a commit that the next call
        # finds.
        if not made.adopted:
            move_branch(worktree, heads, made.commit, identity, pass_fds=(lock_fd,), keep=keep)
            flush_refs(worktree.repository, (worktree.ref, *([keep] if keep else ())))
        _clear_unfinished(worktree, heads)
        return made


def _find_made(worktree: Worktree, heads: Heads, step: str, exclude: tuple[str, ...]) -> Checkpoint | None:
    """Return the commit that a killed run made for this step, if it is the tip and has all the files.

    An older commit of the same step has other work: a restored journal repeats the names of steps.
    """
    found = find_commit_by_trailer(worktree.repository, worktree.base, heads.tip, STEP_TRAILER, step)
    if found is None or found != heads.tip:
        return None
    with private_index(worktree) as index:
        tree = take_snapshot(worktree, index, exclude).tree
    return Checkpoint(found, tree, adopted=True) if tree == resolve_tree(worktree.repository, found) else None


def _write_checkpoint(
    worktree: Worktree, heads: Heads, message: bytes, identity: Identity, exclude: tuple[str, ...]
) -> Checkpoint:
    """Write a commit without a branch."""
    with private_index(worktree) as index:
        snapshot = take_snapshot(worktree, index, exclude)
        parents = choose_parents(worktree, heads)
        tree = _choose_tree(worktree, heads, parents, snapshot, index)
        commit = _write_commit(worktree, tree, parents, message, identity)
        _install_index(worktree, index)
    return Checkpoint(commit, tree, warnings=tuple(_warn_about_nested(path) for path in snapshot.nested))


def _choose_tree(
    worktree: Worktree, heads: Heads, parents: tuple[str, ...], snapshot: Snapshot, index: Path
) -> str:
    """Return the tree to commit. If the agent only checked out an older commit, that is the tip's tree."""
    is_behind_tip = parents == (heads.tip,) and heads.head != heads.tip
    if not is_behind_tip or snapshot.tree != resolve_tree(worktree.repository, heads.head):
        return snapshot.tree
    run_git(worktree.repository, "read-tree", "-m", "-u", heads.head, heads.tip, env=index_environment(index))
    return resolve_tree(worktree.repository, heads.tip)


def _write_commit(
    worktree: Worktree, tree: str, parents: tuple[str, ...], message: bytes, identity: Identity
) -> str:
    parent_options = [option for parent in parents for option in ("-p", parent)]
    args = ("commit-tree", tree, *parent_options, "-F", "-")
    return (
        run_git(worktree.repository, *args, stdin=message, env=identity.environment()).stdout.decode().strip()
    )


def _install_index(worktree: Worktree, index: Path) -> None:
    git_dir = worktree.repository.git_dir
    lock.clear_lock_file(git_dir / "index.lock", worktree.repository)
    index.replace(git_dir / "index")


def _clear_unfinished(worktree: Worktree, heads: Heads) -> None:
    """Remove unfinished merges and rebases, and attach HEAD to the branch."""
    for name in _UNFINISHED:
        (worktree.repository.git_dir / name).unlink(missing_ok=True)
    for name in _UNFINISHED_DIRECTORIES:
        shutil.rmtree(worktree.repository.git_dir / name, ignore_errors=True)
    if not heads.attached:
        attach_head(worktree)


def _warn_about_nested(path: str) -> str:
    _log.warning("%s is a nested repository and was not committed", path)
    return f"{path} is a nested repository and was not committed"


@with_git_errors
def rewind_branch(worktree: Worktree, commit: str, backup_ref: str, identity: Identity) -> None:
    """Reset the branch and its files to a commit; the previous tip stays under `backup_ref`.

    All files must be committed. After a crash at any point, a second call completes it.
    """
    require_worktree(worktree)
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        heads = read_heads(worktree)
        if heads.tip != commit:
            run_git(worktree.repository, "update-ref", backup_ref, heads.tip)
        run_git(worktree.repository, "read-tree", "--reset", "-u", commit, timeout_seconds=LONG_SECONDS)
        move_branch(worktree, heads, commit, identity, pass_fds=(lock_fd,))
        attach_head(worktree)
