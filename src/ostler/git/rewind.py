"""Puts a task's branch and its files back to an earlier commit; what they held stays under a ref of ours."""

from __future__ import annotations

from ostler.git import lock
from ostler.git.command import LONG_SECONDS, run
from ostler.git.failure import with_git_errors
from ostler.git.head import attach, move_branch, read_heads
from ostler.git.identity import Identity
from ostler.git.registration import require
from ostler.git.repository import Worktree


@with_git_errors
def rewind(worktree: Worktree, commit: str, kept_as: str, who: Identity) -> None:
    """Everything must be committed before; called again after a crash at any moment it ends the same."""
    require(worktree)
    with lock.hold(worktree.repository.git_dir) as held:
        heads = read_heads(worktree)
        if heads.tip != commit:
            run(worktree.repository, "update-ref", kept_as, heads.tip)
        run(worktree.repository, "read-tree", "--reset", "-u", commit, timeout_seconds=LONG_SECONDS)
        move_branch(worktree, heads, commit, who, keep=(held,))
        attach(worktree)
