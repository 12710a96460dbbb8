"""Merging without a checkout: among git's objects, into a branch that nobody has checked out."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.command import LONG_SECONDS, ask, run
from ostler.git.failure import with_git_errors
from ostler.git.identity import Identity
from ostler.git.refs import check_ref
from ostler.git.repository import Repository

_TURNS = 3  # somebody else may move the target while we look
_UNDER_WAY = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


class MergeConflict(GitError):
    """Two lines of work change the same places; `files` are those, `onto` is the target's commit."""

    def __init__(self, message: str, hint: str, files: tuple[str, ...], onto: str = "") -> None:
        super().__init__(Code.MERGE_CONFLICT, message, hint)
        self.files = files
        self.onto = onto


class TargetMoved(Exception):
    """The target has commits that the branch has not, and only a step forward was allowed."""


class Merged(Struct, frozen=True):
    """Where the target is now."""

    commit: str
    adopted: bool = False  # it had the work already


@with_git_errors
def merge(
    repository: Repository, branch: str, target: str, who: Identity, message: str, *, forward: bool = False
) -> Merged:
    """Bring a branch into a local target that nobody has checked out; once, however often it is called.

    With `forward` the target ends at the branch's own commit, or TargetMoved is raised.
    """
    source = commit_of(repository, f"refs/heads/{check_ref(branch)}")
    for turn in range(_TURNS):
        old = commit_of(repository, f"refs/heads/{check_ref(target)}")
        if not source or not old:
            raise _missing(repository, target if source else branch)
        if is_ancestor(repository, source, old):
            return Merged(old, adopted=True)
        if forward and not is_ancestor(repository, old, source):
            raise TargetMoved(target)
        _require_at_rest(repository, branch, target)
        new = _merged_commit(repository, (old, source), (target, branch), who, message)
        if _move(repository, target, new, old, last=turn == _TURNS - 1):
            return Merged(new)
    raise AssertionError("the last turn raises")


def merge_trees(repository: Repository, ours: str, theirs: str) -> str:
    """The tree of both commits' changes since they parted; raises MergeConflict."""
    tree, files = merge_marked(repository, ours, theirs)
    if not files:
        return tree
    raise MergeConflict(f"the same places were changed in {_name(files)}", "", tuple(files))


def merge_marked(repository: Repository, ours: str, theirs: str) -> tuple[str, list[str]]:
    """The same tree, and the files in it that hold both sides between marks."""
    args = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    finished = run(repository, *args, accept=(0, 1), timeout_seconds=LONG_SECONDS)
    tree, *files = os.fsdecode(finished.stdout).rstrip("\0").split("\0")
    return tree, files if finished.status else []


def write_commit(
    repository: Repository, tree: str, parents: tuple[str, ...], who: Identity, message: str
) -> str:
    """A commit that no branch has yet."""
    follows = [word for parent in parents for word in ("-p", parent)]
    args = ("commit-tree", tree, *follows, "-F", "-")
    text = f"{message}\n".encode(errors="replace")
    return run(repository, *args, stdin=text, env=who.environment()).stdout.decode().strip()


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Whether all of one commit's history is in the other's."""
    return run(repository, "merge-base", "--is-ancestor", older, newer, accept=(0, 1)).status == 0


def commit_of(repository: Repository, name: str) -> str:
    """The commit that a name leads to; empty when it leads nowhere."""
    return ask(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _merged_commit(
    repository: Repository, commits: tuple[str, str], names: tuple[str, str], who: Identity, message: str
) -> str:
    old, source = commits
    if is_ancestor(repository, old, source):
        return source
    try:
        tree = merge_trees(repository, old, source)
    except MergeConflict as conflict:
        raise describe(conflict, *names, old) from conflict
    return write_commit(repository, tree, commits, who, message)


def describe(conflict: MergeConflict, target: str, branch: str, onto: str) -> MergeConflict:
    """The same conflict, with the names that a person knows."""
    message = f"{branch} and {target} both changed {_name(list(conflict.files))}; nothing was merged"
    hint = (
        f'ostler resume -m "..." lets an agent solve it; or merge {target} in the worktree, and ostler resume'
    )
    return MergeConflict(message, hint, conflict.files, onto)


def _move(repository: Repository, target: str, new: str, old: str, *, last: bool) -> bool:
    """Set the target if it still is where it was read."""
    args = ("update-ref", "--no-deref", "-m", "ostler: merge", f"refs/heads/{target}", new, old)
    try:
        run(repository, *args)
    except GitError as refused:
        if last or refused.code is not Code.GIT_LOCKED:
            raise
        return False
    return True


def _require_at_rest(repository: Repository, branch: str, target: str) -> None:
    """A branch that is checked out must not move under its files, and the files are not ours to change."""
    place = ask(repository, "for-each-ref", "--format=%(worktreepath)", f"refs/heads/{target}")
    if not place and not _is_under_way(repository, target):
        return
    where = place or str(repository.work_tree)
    message = f"{target} is checked out in {where}, which Ostler does not touch; {branch} is ready"
    raise GitError(Code.PUBLISH_FAILED, message, f"git -C '{where}' merge {branch}")


def _is_under_way(repository: Repository, target: str) -> bool:
    """Whether a rebase or a bisection somewhere will come back to the target."""
    rooms = [repository.common_dir, *(repository.common_dir / "worktrees").glob("*")]
    return any(
        _named_in(room / file) in (target, f"refs/heads/{target}") for room in rooms for file in _UNDER_WAY
    )


def _named_in(file: Path) -> str:
    return file.read_text(errors="replace").strip() if file.is_file() else ""


def _missing(repository: Repository, name: str) -> GitError:
    message = f"{repository.work_tree} has no branch {name}, so nothing was merged"
    return GitError(
        Code.PUBLISH_FAILED, message, f"git branch {name}, or set git.target to a branch that is there"
    )


def _name(files: list[str], most: int = 5) -> str:
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(files[:most]) + more
