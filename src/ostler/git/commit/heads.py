"""HEAD of a worktree and the tip of the task's branch."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.identity import Identity
from ostler.git.refs import resolve_commit
from ostler.git.repository import Worktree
from ostler.git.run.command import query_git, run_git


class Heads(Struct, frozen=True):
    tip: str  # commit of the branch; the base if an agent deleted the branch
    branch_exists: bool
    head: str  # checked-out commit; the tip if HEAD is invalid
    attached: bool  # HEAD refers to the branch


def read_heads(worktree: Worktree) -> Heads:
    """Read both commits, with one git call if the worktree is unchanged."""
    names = (f"{worktree.ref}^{{commit}}", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
    finished = run_git(worktree.repository, "rev-parse", *names, accept=(0, 128))
    lines = finished.stdout.decode(errors="replace").split("\n")
    if finished.status == 0 and len(lines) == 4:
        return Heads(lines[0], True, lines[1], lines[2] == worktree.ref)
    tip = resolve_commit(worktree.repository, worktree.ref)
    head = resolve_commit(worktree.repository, "HEAD")
    name = query_git(worktree.repository, "symbolic-ref", "--quiet", "HEAD")
    return Heads(tip or head or worktree.base, bool(tip), head or tip or worktree.base, name == worktree.ref)


def choose_parents(worktree: Worktree, heads: Heads) -> tuple[str, ...]:
    """Return the parents of the next commit, so that no commit of the agent is lost."""
    if heads.head == heads.tip:
        return (heads.tip,)
    merge_base = find_merge_base(worktree, heads.tip, heads.head)
    if merge_base == heads.tip:
        return (heads.head,)
    return (heads.tip,) if merge_base == heads.head else (heads.tip, heads.head)


def find_merge_base(worktree: Worktree, first: str, second: str) -> str:
    """Return the newest common ancestor, or an empty string."""
    return query_git(worktree.repository, "merge-base", first, second).partition("\n")[0]


def move_branch(
    worktree: Worktree,
    heads: Heads,
    commit: str,
    identity: Identity,
    pass_fds: tuple[int, ...] = (),
    reason: str = "checkpoint",
) -> None:
    """Set the branch to a commit, if it still has the value that was read."""
    old = heads.tip if heads.branch_exists else "0" * len(commit)
    # --no-deref: an agent may have made our branch a symbolic ref to a branch of the user.
    args = ("update-ref", "--no-deref", "-m", f"ostler: {reason}", worktree.ref, commit, old)
    run_git(worktree.repository, *args, env=identity.environment(), pass_fds=pass_fds)


def attach_head(worktree: Worktree) -> None:
    """Let HEAD refer to the branch; no file changes."""
    run_git(
        worktree.repository, "symbolic-ref", "-m", "ostler: back to the task's branch", "HEAD", worktree.ref
    )
