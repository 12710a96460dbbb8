"""A task's branch, carried onto where its target is now; conflicts are found before a file is touched."""

from __future__ import annotations

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.command import LONG_SECONDS, run
from ostler.git.failure import with_git_errors
from ostler.git.head import Heads, attach, meeting_point, move_branch, read_heads
from ostler.git.identity import Identity
from ostler.git.leftover import is_half_checked_out
from ostler.git.merge import MergeConflict, describe, is_ancestor, merge_trees, write_commit
from ostler.git.registration import require
from ostler.git.repository import Repository, Worktree
from ostler.git.snapshot import tree_of

_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


class Synced(Struct, frozen=True):
    """Where a task's branch is after it was carried onto its target."""

    tip: str
    base: str  # the commit that the work starts from now
    moved: bool = False


@with_git_errors
def sync(worktree: Worktree, onto: str, target: str, who: Identity, keep: tuple[int, ...] = ()) -> Synced:
    """Carry the branch onto a commit of its target; raises MergeConflict and changes nothing if it cannot.

    The caller holds the worktree's lock. The same branch and target give the same commits, so that a run
    that was killed on the way is finished by the next one.
    """
    require(worktree)
    heads = _settled(worktree)
    if is_ancestor(worktree.repository, onto, heads.tip):
        return Synced(heads.tip, onto)
    if is_ancestor(worktree.repository, heads.tip, onto):
        return Synced(heads.tip, heads.tip)
    if not meeting_point(worktree, onto, heads.tip):
        message = f"{worktree.branch} and {target} have no commit in common"
        raise GitError(Code.MERGE_CONFLICT, message, "see git log --graph for both")
    try:
        tip = _carry(worktree, heads.tip, onto, who)
    except MergeConflict as conflict:
        raise describe(conflict, target, worktree.branch) from conflict
    _check_out(worktree, heads, tip, who, keep)
    return Synced(tip, onto, moved=True)


def _settled(worktree: Worktree) -> Heads:
    heads = read_heads(worktree)
    if heads.head != heads.tip:
        message = f"the worktree {worktree.path} is not at the end of {worktree.branch}"
        raise GitError(Code.PUBLISH_FAILED, message, f"git -C '{worktree.path}' switch {worktree.branch}")
    if not heads.attached:
        attach(worktree)
    return heads


def _carry(worktree: Worktree, tip: str, onto: str, who: Identity) -> str:
    args = ("rev-list", "--reverse", "--topo-order", "--parents", f"{onto}..{tip}", "--")
    lines = run(worktree.repository, *args).stdout.decode().splitlines()
    lineage = [line.split() for line in lines]
    if any(len(commits) > 2 for commits in lineage):
        # Replaying would lose what a merge commit itself changed; a merge loses nothing.
        tree = merge_trees(worktree.repository, tip, onto)
        return write_commit(worktree.repository, tree, (tip, onto), who, f"Merge into {worktree.branch}")
    for commit, parent in lineage:
        onto = _replay(worktree, commit, parent, onto)
    return onto


def _replay(worktree: Worktree, commit: str, parent: str, onto: str) -> str:
    """The change of one commit, on top of another; nothing new when the other has it already."""
    if parent == onto:
        return commit
    repository = worktree.repository
    trees = {name: tree_of(worktree, name) for name in (commit, parent, onto)}
    # git before 2.40 takes no merge base, so a commit of the new files on the old parent stands in for it.
    ours = _write(repository, _raw(repository, parent), trees[onto], parent)
    tree = merge_trees(repository, ours, commit)
    if tree == trees[onto] and trees[commit] != trees[parent]:
        return onto
    return _write(repository, _raw(repository, commit), tree, onto)


def _raw(repository: Repository, commit: str) -> bytes:
    return run(repository, "cat-file", "commit", commit).stdout


def _write(repository: Repository, like: bytes, tree: str, parent: str) -> str:
    """A commit with the people, times and words of another: made twice it is the same."""
    header, _, message = like.partition(b"\n\n")
    kept = [line for line in header.split(b"\n") if line.startswith(_KEPT_HEADERS)]
    lines = (b"tree " + tree.encode(), b"parent " + parent.encode(), *kept)
    content = b"\n".join(lines) + b"\n\n" + message
    made = run(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=content)
    return made.stdout.decode().strip()


def _check_out(worktree: Worktree, heads: Heads, tip: str, who: Identity, keep: tuple[int, ...]) -> None:
    """Files first: killed before the branch moves, the next run comes here again and finds them right."""
    repository = worktree.repository
    run(repository, "update-index", "-q", "--refresh", accept=(0, 1), timeout_seconds=LONG_SECONDS)
    args = ("read-tree", "-m", "-u", heads.tip, tip)
    done = run(repository, *args, accept=(0, 1, 128), timeout_seconds=LONG_SECONDS, keep=keep)
    if done.status != 0:
        if not is_half_checked_out(worktree, heads.tip, tip):
            raise _in_the_way(worktree, done.stderr)
        run(repository, "read-tree", "--reset", "-u", tip, timeout_seconds=LONG_SECONDS, keep=keep)
    reach("publish.files")
    move_branch(worktree, heads, tip, who, keep=keep, reason="rebase")


def _in_the_way(worktree: Worktree, stderr: bytes) -> GitError:
    line = stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("error: ")
    message = f"uncommitted files of {worktree.path} are in the way: {line}"
    return GitError(Code.PUBLISH_FAILED, message, f"git -C '{worktree.path}' status shows them")
