"""Where a worktree's HEAD and the task's branch are, and how they come together again."""

from __future__ import annotations

from msgspec import Struct

from ostler.git.command import ask, run
from ostler.git.identity import Identity
from ostler.git.repository import Worktree


class Heads(Struct, frozen=True):
    tip: str  # the branch's commit; the base when an agent deleted the branch
    branch_exists: bool
    head: str  # what is checked out; the tip when that is nothing
    attached: bool  # HEAD names the branch


def read_heads(worktree: Worktree) -> Heads:
    """Both commits; one git call when all is as we left it."""
    names = (f"{worktree.ref}^{{commit}}", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
    finished = run(worktree.repository, "rev-parse", *names, accept=(0, 128))
    lines = finished.stdout.decode(errors="replace").split("\n")
    if finished.status == 0 and len(lines) == 4:
        return Heads(lines[0], True, lines[1], lines[2] == worktree.ref)
    tip = _commit(worktree, worktree.ref)
    head = _commit(worktree, "HEAD")
    name = ask(worktree.repository, "symbolic-ref", "--quiet", "HEAD")
    return Heads(tip or head or worktree.base, bool(tip), head or tip or worktree.base, name == worktree.ref)


def parents_of_next(worktree: Worktree, heads: Heads) -> tuple[str, ...]:
    """What the next commit must follow so that no commit of the agent is lost."""
    if heads.head == heads.tip:
        return (heads.tip,)
    meeting = meeting_point(worktree, heads.tip, heads.head)
    if meeting == heads.tip:
        return (heads.head,)
    return (heads.tip,) if meeting == heads.head else (heads.tip, heads.head)


def meeting_point(worktree: Worktree, one: str, other: str) -> str:
    """The newest commit that both have in their history; empty when there is none."""
    return ask(worktree.repository, "merge-base", one, other).partition("\n")[0]


def move_branch(
    worktree: Worktree,
    heads: Heads,
    commit: str,
    who: Identity,
    keep: tuple[int, ...] = (),
    reason: str = "checkpoint",
) -> None:
    """Set the branch to a commit, if it still is where it was read."""
    old = heads.tip if heads.branch_exists else "0" * len(commit)
    # --no-deref: an agent may have made our branch a name for one of the user's.
    args = ("update-ref", "--no-deref", "-m", f"ostler: {reason}", worktree.ref, commit, old)
    run(worktree.repository, *args, env=who.environment(), keep=keep)


def attach(worktree: Worktree) -> None:
    """Let HEAD name the branch again; no file changes."""
    run(worktree.repository, "symbolic-ref", "-m", "ostler: back to the task's branch", "HEAD", worktree.ref)


def _commit(worktree: Worktree, name: str) -> str:
    return ask(
        worktree.repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
