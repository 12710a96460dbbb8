"""A task's branch, carried onto where its target is now; conflicts are found before a file is touched."""

from __future__ import annotations

import os

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git import lock
from ostler.git.command import LONG_SECONDS, run
from ostler.git.failure import with_git_errors
from ostler.git.head import Heads, attach, meeting_point, move_branch, read_heads
from ostler.git.identity import Identity
from ostler.git.leftover import is_half_checked_out
from ostler.git.merge import MergeConflict, describe, is_ancestor, merge_marked, merge_trees, write_commit
from ostler.git.registration import require
from ostler.git.repository import Repository, Worktree
from ostler.git.snapshot import tree_of

_MARKS = "^(<{7,}|>{7,}) [0-9a-f]{40,64}(:|\r?$)"  # git's, with the commits that `take_in` merges for names
_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


class Synced(Struct, frozen=True):
    """Where a task's branch is after it was carried onto its target."""

    tip: str
    base: str  # the commit that the work starts from now
    moved: bool = False
    contained: bool = False  # the target has all of it


class _Change(Struct, frozen=True):
    commit: str
    tree: str
    parents: tuple[str, ...]


class _Place(Struct, frozen=True):
    commit: str
    tree: str


@with_git_errors
def sync(worktree: Worktree, onto: str, target: str, who: Identity, keep: tuple[int, ...] = ()) -> Synced:
    """Carry the branch onto a commit of its target; raises MergeConflict and changes nothing if it cannot.

    The caller holds the worktree's lock. The same branch and target give the same commits, so that a run
    that was killed on the way is finished by the next one.
    """
    require(worktree)
    heads = _settled(worktree)
    if is_ancestor(worktree.repository, heads.tip, onto):
        return Synced(heads.tip, worktree.base, contained=True)
    if is_ancestor(worktree.repository, onto, heads.tip):
        return Synced(heads.tip, onto)
    if not meeting_point(worktree, onto, heads.tip):
        message = f"{worktree.branch} and {target} have no commit in common"
        raise GitError(Code.MERGE_CONFLICT, message, "see git log --graph for both")
    try:
        tip = _carry(worktree, heads.tip, onto, who)
    except MergeConflict as conflict:
        raise describe(conflict, target, worktree.branch, onto) from conflict
    _check_out(worktree, heads, tip, who, keep)
    return Synced(tip, onto, moved=True)


@with_git_errors
def take_in(worktree: Worktree, onto: str, message: str, who: Identity) -> None:
    """Merge a commit into the branch, with marks where both changed a place; once, however often called.

    Everything must be committed before. The work then stands on what it did not fit, for an agent to mend.
    """
    require(worktree)
    with lock.hold(worktree.repository.git_dir) as held:
        heads = _settled(worktree)
        if is_ancestor(worktree.repository, onto, heads.tip):
            return
        tree, _ = merge_marked(worktree.repository, heads.tip, onto)
        commit = write_commit(worktree.repository, tree, (heads.tip, onto), who, message)
        _check_out(worktree, heads, commit, who, (held,))


def refuse_marks(worktree: Worktree, synced: Synced, target: str) -> None:
    """Raise MergeConflict where an agent has left the marks of a conflict as `take_in` made them."""
    files = _marked(worktree.repository, synced)
    if files:
        message = (
            f"{', '.join(files[:5])} of {worktree.branch} still holds marks of the conflict with {target}"
        )
        raise MergeConflict(message, 'ostler resume -m "..." lets an agent remove them', files, synced.base)


def _marked(repository: Repository, synced: Synced) -> tuple[str, ...]:
    """The files in whose marks the work changed something, and that still have some."""
    args = ("diff-tree", "-r", "-z", "--name-only", "--text", "--no-ext-diff", "--no-textconv", f"-G{_MARKS}")
    names = run(repository, *args, "--end-of-options", synced.base, synced.tip, "--").stdout
    files = [name for name in os.fsdecode(names).split("\0") if name]
    if not files:
        return ()
    search = ("grep", "-z", "--files-with-matches", "--full-name", "--text", "-E", "-e", _MARKS, synced.tip)
    found = run(repository, *search, "--", *files, accept=(0, 1), env={"GIT_LITERAL_PATHSPECS": "1"}).stdout
    return tuple(name.partition(":")[2] for name in os.fsdecode(found).split("\0") if name)


def is_mere_rebase(worktree: Worktree, before: str, after: str, onto: str, who: Identity) -> bool:
    """Whether a commit is what carrying another one onto this one makes of it, and nothing else."""
    if is_ancestor(worktree.repository, before, onto):
        return False
    try:
        return _carry(worktree, before, onto, who) == after
    except MergeConflict:
        return False


def _settled(worktree: Worktree) -> Heads:
    heads = read_heads(worktree)
    if heads.head != heads.tip:
        message = f"the worktree {worktree.path} is not at the end of {worktree.branch}"
        raise GitError(Code.PUBLISH_FAILED, message, f"git -C '{worktree.path}' switch {worktree.branch}")
    if not heads.attached:
        attach(worktree)
    return heads


def _carry(worktree: Worktree, tip: str, onto: str, who: Identity) -> str:
    changes = _changes(worktree, onto, tip)
    if any(len(change.parents) > 1 for change in changes):
        # Replaying would lose what a merge commit itself changed; a merge loses nothing.
        tree = merge_trees(worktree.repository, tip, onto)
        return write_commit(worktree.repository, tree, (tip, onto), who, f"Merge into {worktree.branch}")
    place = _Place(onto, tree_of(worktree, onto))
    before = tree_of(worktree, changes[0].parents[0])
    for change in changes:
        place = _replay(worktree.repository, change, before, place)
        before = change.tree
    return place.commit


def _changes(worktree: Worktree, onto: str, tip: str) -> list[_Change]:
    """The commits that the target has not, oldest first."""
    form = ("--reverse", "--topo-order", "--no-commit-header", "--format=%H %T %P")
    lines = run(worktree.repository, "rev-list", *form, f"{onto}..{tip}", "--").stdout.decode().splitlines()
    words = (line.split() for line in lines)
    return [_Change(commit, tree, tuple(parents)) for commit, tree, *parents in words]


def _replay(repository: Repository, change: _Change, before: str, place: _Place) -> _Place:
    """One change, whose files were `before`, on top of a place; the same place when that has it already."""
    raw = run(repository, "cat-file", "commit", change.commit).stdout
    # git before 2.40 takes no merge base, so a commit of the new files on the old parent stands in for it.
    ours = _write(repository, raw, place.tree, change.parents[0])
    tree = merge_trees(repository, ours, change.commit)
    if tree == place.tree and change.tree != before:
        return place
    return _Place(_write(repository, raw, tree, place.commit), tree)


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
