"""HEAD of a worktree and the tip of the task's branch."""

from __future__ import annotations

import os

from msgspec import Struct

from ostler.git.identity import Identity
from ostler.git.ref_files import read_attached_branch, read_loose_tree, read_ref
from ostler.git.refs import resolve_commit
from ostler.git.repository import Worktree
from ostler.git.run.command import query_git, run_git


class Heads(Struct, frozen=True):
    tip: str  # commit of the branch; the base if an agent deleted the branch
    branch_exists: bool
    head: str  # checked-out commit; the tip if HEAD is invalid
    attached: bool  # HEAD refers to the branch


def read_heads(worktree: Worktree) -> Heads:
    """Read both commits, with one git call if the worktree is unchanged, and none if HEAD is attached."""
    if (tip := _read_attached(worktree)) is not None:
        return Heads(tip, True, tip, True)
    names = (f"{worktree.ref}^{{commit}}", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
    finished = run_git(worktree.repository, "rev-parse", *names, accept=(0, 128))
    lines = finished.stdout.decode(errors="replace").split("\n")
    if finished.status == 0 and len(lines) == 4:
        return Heads(lines[0], True, lines[1], lines[2] == worktree.ref)
    tip = resolve_commit(worktree.repository, worktree.ref)
    head = resolve_commit(worktree.repository, "HEAD")
    name = query_git(worktree.repository, "symbolic-ref", "--quiet", "HEAD")
    return Heads(tip or head or worktree.base, bool(tip), head or tip or worktree.base, name == worktree.ref)


def _read_attached(worktree: Worktree) -> str | None:
    """Return the tip of the branch, if HEAD refers to it; None if only git can tell."""
    if read_attached_branch(worktree.repository) != worktree.ref:
        return None
    tip = read_ref(worktree.repository, worktree.ref)
    is_known = tip == worktree.base or read_loose_tree(worktree.repository, tip or "") != ""
    return tip if tip and is_known else None


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
    keep: str = "",
) -> None:
    """Set the branch to a commit, if it still has the value that was read, and with it the ref `keep`."""
    old = heads.tip if heads.branch_exists else "0" * len(commit)
    lines = [f"update {worktree.ref} {commit} {old}\n", *([f"update {keep} {commit}\n"] if keep else ())]
    # --no-deref: an agent may have made our branch a symbolic ref to a branch of the user.
    args = ("update-ref", "--no-deref", "-m", f"ostler: {reason}", "--stdin")
    stdin = os.fsencode("".join(lines))
    run_git(worktree.repository, *args, stdin=stdin, env=identity.environment(), pass_fds=pass_fds)


def attach_head(worktree: Worktree) -> None:
    """Let HEAD refer to the branch; no file changes."""
    run_git(
        worktree.repository, "symbolic-ref", "-m", "ostler: back to the task's branch", "HEAD", worktree.ref
    )
