"""Rebases a task's branch onto its target; conflicts are detected before a file changes."""

from __future__ import annotations

import os
from enum import StrEnum

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.commit.heads import Heads, attach_head, find_merge_base, move_branch, read_heads
from ostler.git.commit.index import private_index
from ostler.git.commit.snapshot import take_snapshot
from ostler.git.identity import Identity
from ostler.git.publish.merge import (
    MergeConflict,
    describe_conflict,
    is_ancestor,
    merge_trees,
    merge_with_markers,
    write_commit,
)
from ostler.git.refs import resolve_tree
from ostler.git.repository import Repository, Worktree
from ostler.git.run import lock
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.worktree.registration import require_worktree

_CONFLICT_MARKERS = (
    "^(<{7,}|>{7,}) [0-9a-f]{40,64}(:|\r?$)"  # with the commits of `merge_with_conflict_markers` as names
)
_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


class SyncResult(Struct, frozen=True):
    """The state of a task's branch after the rebase."""

    tip: str
    base: str  # new base
    onto: str = ""  # commit of the target that the branch contains; empty: unknown
    moved: bool = False
    contained: bool = False  # the target contains the branch


class Stacked(StrEnum):
    """Whether a branch starts from the work of another task."""

    NO = "no"
    ON_TASK = "on a task"  # whose work the target does not contain, as far as is known
    ON_MERGED_TASK = "on a merged task"  # the target contains its final work: replay only the own commits


class _Commit(Struct, frozen=True):
    commit: str
    tree: str
    parents: tuple[str, ...]


class _Position(Struct, frozen=True):
    commit: str
    tree: str


@with_git_errors
def sync_with_target(
    worktree: Worktree,
    onto: str,
    target: str,
    identity: Identity,
    pass_fds: tuple[int, ...] = (),
    stacked: Stacked = Stacked.NO,
) -> SyncResult:
    """Rebase the branch onto a commit of its target. Raises MergeConflict and changes nothing if it cannot.

    The caller holds the worktree's lock. The same input gives the same commits, so that the next run
    completes an interrupted one.
    """
    require_worktree(worktree)
    heads = _require_branch_checked_out(worktree)
    if is_ancestor(worktree.repository, heads.tip, onto):
        return SyncResult(heads.tip, worktree.base, contained=True)
    if is_ancestor(worktree.repository, onto, heads.tip):
        keeps_base = stacked is not Stacked.NO and is_ancestor(worktree.repository, onto, worktree.base)
        return SyncResult(heads.tip, worktree.base if keeps_base else onto, onto)
    if not find_merge_base(worktree, onto, heads.tip):
        message = f"{worktree.branch} and {target} have no common commit"
        raise GitError(Code.MERGE_CONFLICT, message, "compare them with git log --graph")
    try:
        base, tip = _rebase_stack(worktree, heads.tip, onto, identity, stacked)
    except MergeConflict as conflict:
        raise describe_conflict(conflict, target, worktree.branch, onto) from conflict
    _check_out(worktree, heads, tip, identity, pass_fds)
    return SyncResult(tip, base, onto, moved=True)


@with_git_errors
def move_to_base(worktree: Worktree, base: str, identity: Identity) -> SyncResult:
    """Replay the task's own commits onto a new base. Raises MergeConflict and changes nothing if it cannot.

    All files must be committed. A branch that contains the new base stays.
    """
    require_worktree(worktree)
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        heads = _require_branch_checked_out(worktree)
        if is_ancestor(worktree.repository, base, heads.tip):
            return SyncResult(heads.tip, base, base)
        tip = _replay_all(worktree, _list_commits(worktree, worktree.base, heads.tip), base, identity)
        _check_out(worktree, heads, tip, identity, (lock_fd,))
        return SyncResult(tip, base, base, moved=True)


@with_git_errors
def merge_with_conflict_markers(worktree: Worktree, onto: str, message: str, identity: Identity) -> None:
    """Merge a commit into the branch, with conflict markers; a second call changes nothing.

    All files must be committed. An agent then resolves the conflicts.
    """
    require_worktree(worktree)
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        heads = _require_branch_checked_out(worktree)
        if is_ancestor(worktree.repository, onto, heads.tip):
            return
        tree, _ = merge_with_markers(worktree.repository, heads.tip, onto)
        commit = write_commit(worktree.repository, tree, (heads.tip, onto), identity, message)
        _check_out(worktree, heads, commit, identity, (lock_fd,))


def require_no_conflict_markers(worktree: Worktree, synced: SyncResult, target: str) -> None:
    """Raise MergeConflict if markers of `merge_with_conflict_markers` are left in a file."""
    files = _find_conflict_markers(worktree.repository, synced)
    if files:
        names = ", ".join(files[:5])
        message = f"{names} of {worktree.branch} still contains conflict markers of the merge with {target}"
        raise MergeConflict(
            message, 'run ostler resume -m "..." to let an agent remove them', files, synced.base
        )


def _find_conflict_markers(repository: Repository, synced: SyncResult) -> tuple[str, ...]:
    """Return the changed files that contain conflict markers."""
    args = (
        "diff-tree",
        "-r",
        "-z",
        "--name-only",
        "--text",
        "--no-ext-diff",
        "--no-textconv",
        f"-G{_CONFLICT_MARKERS}",
    )
    names = run_git(repository, *args, "--end-of-options", synced.base, synced.tip, "--").stdout
    files = [name for name in os.fsdecode(names).split("\0") if name]
    if not files:
        return ()
    search = (
        "grep",
        "-z",
        "--files-with-matches",
        "--full-name",
        "--text",
        "-E",
        "-e",
        _CONFLICT_MARKERS,
        synced.tip,
    )
    found = run_git(
        repository, *search, "--", *files, accept=(0, 1), env={"GIT_LITERAL_PATHSPECS": "1"}
    ).stdout
    return tuple(name.partition(":")[2] for name in os.fsdecode(found).split("\0") if name)


def is_pure_rebase(
    worktree: Worktree,
    before: str,
    after: str,
    onto: str,
    identity: Identity,
    stacked: Stacked = Stacked.NO,
) -> bool:
    """Return whether a commit is exactly the rebase of another one."""
    if is_ancestor(worktree.repository, before, onto):
        return False
    try:
        return _rebase_stack(worktree, before, onto, identity, stacked)[1] == after
    except MergeConflict:
        return False


def _require_branch_checked_out(worktree: Worktree) -> Heads:
    heads = read_heads(worktree)
    if heads.head != heads.tip:
        message = f"the worktree {worktree.path} is not at the tip of {worktree.branch}"
        raise GitError(Code.PUBLISH_FAILED, message, f"git -C '{worktree.path}' switch {worktree.branch}")
    if not heads.attached:
        attach_head(worktree)
    return heads


def _rebase_stack(
    worktree: Worktree, tip: str, onto: str, identity: Identity, stacked: Stacked
) -> tuple[str, str]:
    """Return the new base and the new tip; the work of a predecessor is replayed unless the target has it."""
    base = worktree.base
    if stacked is Stacked.NO or is_ancestor(worktree.repository, base, onto):
        return onto, _rebase(worktree, tip, onto, identity)
    new_base = onto if stacked is Stacked.ON_MERGED_TASK else _rebase(worktree, base, onto, identity)
    return new_base, _replay_all(worktree, _list_commits(worktree, base, tip), new_base, identity)


def _rebase(worktree: Worktree, tip: str, onto: str, identity: Identity) -> str:
    return _replay_all(worktree, _list_commits(worktree, onto, tip), onto, identity)


def _replay_all(worktree: Worktree, commits: list[_Commit], onto: str, identity: Identity) -> str:
    """Replay commits, oldest first, and return the new tip."""
    if not commits:
        return onto
    tip = commits[-1].commit
    if any(len(commit.parents) > 1 for commit in commits):
        # Replaying would lose changes made in a merge commit itself; a merge keeps them.
        tree = merge_trees(worktree.repository, tip, onto)
        return write_commit(worktree.repository, tree, (tip, onto), identity, f"Merge into {worktree.branch}")
    position = _Position(onto, resolve_tree(worktree.repository, onto))
    before = resolve_tree(worktree.repository, commits[0].parents[0])
    for commit in commits:
        position = _replay(worktree.repository, commit, before, position)
        before = commit.tree
    return position.commit


def _list_commits(worktree: Worktree, onto: str, tip: str) -> list[_Commit]:
    """Return the commits of the tip that another commit does not have, oldest first."""
    form = ("--reverse", "--topo-order", "--no-commit-header", "--format=%H %T %P")
    lines = (
        run_git(worktree.repository, "rev-list", *form, f"{onto}..{tip}", "--").stdout.decode().splitlines()
    )
    fields = (line.split() for line in lines)
    return [_Commit(commit, tree, tuple(parents)) for commit, tree, *parents in fields]


def _replay(repository: Repository, commit: _Commit, before: str, position: _Position) -> _Position:
    """Apply a commit whose parent has the tree `before`; a position that has the change stays."""
    raw = run_git(repository, "cat-file", "commit", commit.commit).stdout
    # git before 2.40 accepts no merge base: a commit of the new files on the old parent replaces it.
    ours = _write_commit_like(repository, raw, position.tree, commit.parents[0])
    tree = merge_trees(repository, ours, commit.commit)
    if tree == position.tree and commit.tree != before:
        return position
    return _Position(_write_commit_like(repository, raw, tree, position.commit), tree)


def _write_commit_like(repository: Repository, original: bytes, tree: str, parent: str) -> str:
    """Write a commit with the author, dates and message of another; the same input gives the same commit."""
    header, _, message = original.partition(b"\n\n")
    kept = [line for line in header.split(b"\n") if line.startswith(_KEPT_HEADERS)]
    lines = (b"tree " + tree.encode(), b"parent " + parent.encode(), *kept)
    content = b"\n".join(lines) + b"\n\n" + message
    written = run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=content)
    return written.stdout.decode().strip()


def _check_out(
    worktree: Worktree, heads: Heads, tip: str, identity: Identity, pass_fds: tuple[int, ...]
) -> None:
    """Update the files, then the branch: after a crash in between, the next call completes it."""
    repository = worktree.repository
    run_git(repository, "update-index", "-q", "--refresh", accept=(0, 1), timeout_seconds=LONG_SECONDS)
    args = ("read-tree", "-m", "-u", heads.tip, tip)
    done = run_git(repository, *args, accept=(0, 1, 128), timeout_seconds=LONG_SECONDS, pass_fds=pass_fds)
    if done.status != 0:
        if not is_partial_checkout(worktree, heads.tip, tip):
            raise _create_uncommitted_files_error(worktree, done.stderr)
        run_git(
            repository, "read-tree", "--reset", "-u", tip, timeout_seconds=LONG_SECONDS, pass_fds=pass_fds
        )
    reach("publish.files")
    move_branch(worktree, heads, tip, identity, pass_fds=pass_fds, reason="rebase")


def _create_uncommitted_files_error(worktree: Worktree, stderr: bytes) -> GitError:
    line = stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("error: ")
    message = f"uncommitted files of {worktree.path} would be overwritten: {line}"
    return GitError(Code.PUBLISH_FAILED, message, f"see them with git -C '{worktree.path}' status")


def is_partial_checkout(worktree: Worktree, old: str, new: str) -> bool:
    """Return whether every file is from one of the two commits, so that no work can be lost."""
    with private_index(worktree) as index:
        now = take_snapshot(worktree, index).tree
    return _list_differences(worktree, old, now) <= _list_differences(worktree, old, new)


def _list_differences(worktree: Worktree, old: str, new: str) -> set[bytes]:
    args = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", old, new, "--")
    fields = run_git(worktree.repository, *args, timeout_seconds=300).stdout.split(b"\0")
    return {b"\0".join(pair) for pair in zip(fields[::2], fields[1::2], strict=False)}
