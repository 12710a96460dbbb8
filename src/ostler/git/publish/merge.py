"""Merges commits in the object database, and into a branch."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.identity import Identity
from ostler.git.kept import keep_previous_tip
from ostler.git.names import format_files
from ostler.git.publish.checkout import find_checkout
from ostler.git.publish.fast_forward import CheckedOutTarget, fast_forward_checkout
from ostler.git.refs import check_branch_name, resolve_commit
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import with_git_errors
from ostler.secrets.redact import redact_bytes

_MAX_TRIES = 3  # the target may move meanwhile
_IN_PROGRESS_FILES = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


class MergeConflict(GitError):
    """Both sides changed the same lines of `files`; `conflict_commit` is the target's commit."""

    def __init__(self, message: str, hint: str, files: tuple[str, ...], conflict_commit: str = "") -> None:
        super().__init__(Code.MERGE_CONFLICT, message, hint)
        self.files = files
        self.conflict_commit = conflict_commit


class TargetMoved(Exception):
    """The target has commits that the branch does not have, and only a fast-forward was allowed."""


class MergeResult(Struct, frozen=True):
    """The new commit of the target."""

    commit: str
    adopted: bool = False  # the target had all commits already


@with_git_errors
def merge_branch(
    repository: Repository,
    branch: str,
    target: str,
    identity: Identity,
    message: str,
    *,
    fast_forward_only: bool = False,
    main_checkout: Path | None = None,
) -> MergeResult:
    """Merge a branch into a local branch; a second call changes nothing.

    With `fast_forward_only` the target becomes the branch's commit, or TargetMoved is raised. A target that
    is checked out moves with its files, or CheckedOutTarget is raised. Its previous tip is kept under a ref.
    `main_checkout` is the user's checkout if its git directory is that of the repository.
    """
    branch_tip = resolve_commit(repository, f"refs/heads/{check_branch_name(branch)}")
    for attempt in range(_MAX_TRIES):
        target_tip = resolve_commit(repository, f"refs/heads/{check_branch_name(target)}")
        if not branch_tip or not target_tip:
            raise _create_missing_branch_error(repository, target if branch_tip else branch)
        if is_ancestor(repository, branch_tip, target_tip):
            return MergeResult(target_tip, adopted=True)
        if fast_forward_only and not is_ancestor(repository, target_tip, branch_tip):
            raise TargetMoved(target)
        checkout = _find_checkout(repository, branch, target, main_checkout)
        new = _create_merge(repository, (target_tip, branch_tip), (target, branch), identity, message)
        if checkout:
            try:
                fast_forward_checkout(repository, checkout, branch, target, (target_tip, new), identity)
            except CheckedOutTarget:
                # Another task that was merged meanwhile is no reason to ask a person.
                has_moved = resolve_commit(repository, f"refs/heads/{target}") != target_tip
                if not has_moved or attempt == _MAX_TRIES - 1:
                    raise
                continue
            return MergeResult(new)
        keep_previous_tip(repository, target, branch, target_tip)
        if _update_target(repository, target, new, target_tip, last=attempt == _MAX_TRIES - 1):
            return MergeResult(new)
    raise AssertionError("the last attempt raises")


def merge_trees(repository: Repository, ours: str, theirs: str) -> str:
    """Return the merged tree of two commits. Raises MergeConflict."""
    tree, files = merge_with_markers(repository, ours, theirs)
    if not files:
        return tree
    raise MergeConflict(f"both sides changed the same lines in {format_files(files)}", "", tuple(files))


def merge_with_markers(repository: Repository, ours: str, theirs: str) -> tuple[str, list[str]]:
    """Return the merged tree and the files in it that contain conflict markers."""
    args = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    finished = run_git(repository, *args, accept=(0, 1), timeout_seconds=LONG_SECONDS)
    tree, *files = os.fsdecode(finished.stdout).rstrip("\0").split("\0")
    return tree, files if finished.status else []


def write_commit(
    repository: Repository, tree: str, parents: tuple[str, ...], identity: Identity, message: str
) -> str:
    """Write a commit that no branch points to yet."""
    parent_options = [option for parent in parents for option in ("-p", parent)]
    args = ("commit-tree", tree, *parent_options, "-F", "-")
    text = redact_bytes(f"{message}\n".encode(errors="replace"))
    return run_git(repository, *args, stdin=text, env=identity.environment()).stdout.decode().strip()


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Return whether one commit is an ancestor of the other."""
    return run_git(repository, "merge-base", "--is-ancestor", older, newer, accept=(0, 1)).status == 0


def _create_merge(
    repository: Repository, commits: tuple[str, str], names: tuple[str, str], identity: Identity, message: str
) -> str:
    target_tip, branch_tip = commits
    if is_ancestor(repository, target_tip, branch_tip):
        return branch_tip
    try:
        tree = merge_trees(repository, target_tip, branch_tip)
    except MergeConflict as conflict:
        raise describe_conflict(conflict, *names, target_tip) from conflict
    return write_commit(repository, tree, commits, identity, message)


def describe_conflict(
    conflict: MergeConflict, target: str, branch: str, conflict_commit: str
) -> MergeConflict:
    """Return the conflict with the names of both branches."""
    message = f"{branch} and {target} both changed {format_files(conflict.files)}; nothing was merged"
    hint = (
        "let an agent resolve it with ostler resume ID -m TEXT;"
        f" or merge {target} in the worktree, then run ostler resume ID"
    )
    return MergeConflict(message, hint, conflict.files, conflict_commit)


def _update_target(repository: Repository, target: str, new: str, target_tip: str, *, last: bool) -> bool:
    """Set the target, if it still has the value that was read; return whether it was set."""
    args = ("update-ref", "--no-deref", "-m", "ostler: merge", f"refs/heads/{target}", new, target_tip)
    try:
        run_git(repository, *args)
    except GitError as error:
        if last or error.code is not Code.GIT_LOCKED:
            raise
        return False
    return True


def _find_checkout(repository: Repository, branch: str, target: str, main_checkout: Path | None) -> str:
    """Return the directory in which the target is checked out, or an empty string."""
    checkout = find_checkout(repository, target, main_checkout)
    if not checkout and _is_in_rebase_or_bisect(repository, target):
        reason = "a rebase or bisect there returns to it"
        raise CheckedOutTarget(target, str(repository.work_tree), branch, reason)
    return checkout


def _is_in_rebase_or_bisect(repository: Repository, target: str) -> bool:
    """Return whether a rebase or a bisect in any worktree will return to the target."""
    git_dirs = [repository.common_dir, *(repository.common_dir / "worktrees").glob("*")]
    return any(
        _read_text(git_dir / file) in (target, f"refs/heads/{target}")
        for git_dir in git_dirs
        for file in _IN_PROGRESS_FILES
    )


def _read_text(file: Path) -> str:
    return file.read_text(errors="replace").strip() if file.is_file() else ""


def _create_missing_branch_error(repository: Repository, name: str) -> GitError:
    message = f"{repository.work_tree} has no branch {name}, so nothing was merged"
    return GitError(
        Code.PUBLISH_FAILED, message, f"run git branch {name}, or set git.target to an existing branch"
    )
