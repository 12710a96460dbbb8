"""Worktrees: made from a commit beside the user's checkout, found again after a crash, taken away."""

from __future__ import annotations

import logging
from pathlib import Path

from msgspec import structs

from ostler.errors import Code, GitError, PathEscape
from ostler.files.failpoint import reach
from ostler.git.command import LONG_SECONDS, ask, run
from ostler.git.failure import with_git_errors
from ostler.git.head import attach, meeting_point, move_branch, read_heads
from ostler.git.identity import OSTLER
from ostler.git.lock import hold
from ostler.git.refs import check_ref
from ostler.git.registration import HALF_MADE, State, inspect, register, restore_pointer, unregister
from ostler.git.repository import Repository, Worktree, worktree_at
from ostler.git.trailers import find_commit, is_ahead
from ostler.git.trash import discard, empty_trash
from ostler.git.warm import Place, Pool, claim, fit, forget, park, seal

_log = logging.getLogger(__name__)


@with_git_errors
def prepare(project: Repository, path: Path, branch: str, base: str, task: str, warm: int = 0) -> Worktree:
    """The task's worktree, made or found; called again after a crash at any moment it ends the same.

    `warm` is how many released ones are kept; a new one is made from such a one where that is safe.
    """
    worktree = worktree_at(project, path, check_ref(branch), base)
    pool = Pool(path.parent, warm)
    with hold(project.common_dir) as lock:
        match inspect(worktree):
            case State.WHOLE:
                worktree = _reuse(worktree)
            case State.UNREGISTERED:
                worktree = _register_again(project, worktree, task)
            case State.TAKEN:
                raise _taken(worktree)
            case State.ABSENT:
                worktree = _add(project, worktree, task, pool, lock)
            case State.HALF_MADE | State.LOST:
                _take_away(worktree)
                worktree = _add(project, worktree, task, pool, lock)
    return _with_working_directory(worktree)


@with_git_errors
def release(worktree: Worktree, warm: int = 0) -> None:
    """Take a worktree away in the time of a rename; the branch stays. Up to `warm` of them are kept."""
    with hold(worktree.repository.common_dir):
        pool = Pool(worktree.path.parent, warm)
        park(pool, worktree.path, worktree.path.name)
        reach("worktree.parked")
        _take_away(worktree)
        forget(pool, worktree.path.name)


def remove(worktree: Worktree) -> int:
    """Take a worktree away and delete its files; how many of them would not go."""
    release(worktree)
    return empty_trash(worktree.path.parent)


def _add(project: Repository, worktree: Worktree, task: str, pool: Pool, lock: int) -> Worktree:
    tip = _tip(project, worktree)
    if tip:
        _require_ours(project, worktree, tip, task)
    worktree.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make(project, worktree, tip, pool, lock)
    return _started_from(worktree, tip) if tip else worktree


def _make(project: Repository, worktree: Worktree, tip: str, pool: Pool, lock: int) -> None:
    """From a tree that is kept, if there is a good one, or from nothing."""
    name, commit = worktree.path.name, tip or worktree.base
    place = claim(pool, name, project, commit)
    if place is not None:
        reach("worktree.claimed")
        if _move_in(project, worktree, tip, place, lock):
            seal(pool, name, worktree.repository, commit)
            (worktree.repository.git_dir / "locked").unlink()
            return
        tip = _tip(project, worktree)  # it may have come so far
    _register_new(project, worktree, tip, lock)
    seal(pool, name, worktree.repository, commit)


def _move_in(project: Repository, worktree: Worktree, tip: str, place: Place, lock: int) -> bool:
    """Make the worktree of this tree, half made until it is unlocked; where that fails, nothing is left."""
    try:
        _register_new(project, worktree, tip, lock, "--no-checkout", "--lock", "--reason", HALF_MADE)
        reach("worktree.registered")
        fit(place, worktree.repository, keep=(lock,))
        reach("worktree.fitted")
    except (GitError, OSError) as reason:
        _log.info("%s is made anew: %s", worktree.path, reason)
        discard(place.path, worktree.path.parent)
        _take_away(worktree)
        return False
    return True


def _register_new(project: Repository, worktree: Worktree, tip: str, lock: int, *how: str) -> None:
    path = str(worktree.path)
    what = (path, worktree.branch) if tip else ("--no-track", "-b", worktree.branch, path, worktree.base)
    args = ("worktree", "add", "--quiet", *how, *what)
    run(project, *args, timeout_seconds=LONG_SECONDS, keep=(lock,))


def _reuse(worktree: Worktree) -> Worktree:
    restore_pointer(worktree)
    heads = read_heads(worktree)
    if not heads.attached and meeting_point(worktree, heads.tip, heads.head) == heads.tip:
        move_branch(worktree, heads, heads.head, OSTLER)
        attach(worktree)
    return _started_from(worktree, heads.tip)


def _register_again(project: Repository, worktree: Worktree, task: str) -> Worktree:
    tip = _tip(project, worktree)
    if not tip:
        message = f"{worktree.path} has files, but git knows neither it nor the branch {worktree.branch}"
        raise GitError(Code.WORKTREE_LOST, message, "move that directory away")
    _require_ours(project, worktree, tip, task)
    register(worktree)
    run(worktree.repository, "read-tree", worktree.ref)
    return _started_from(worktree, tip)


def _take_away(worktree: Worktree) -> None:
    discard(worktree.path, worktree.path.parent)
    unregister(worktree)


def _tip(project: Repository, worktree: Worktree) -> str:
    return ask(project, "for-each-ref", "--format=%(objectname)", worktree.ref)


def _require_ours(project: Repository, worktree: Worktree, tip: str, task: str) -> None:
    """A branch is the task's when it adds nothing to the base, or has a commit that says so."""
    has_work = is_ahead(project, worktree.base, tip)
    if has_work and find_commit(project, worktree.base, tip, "Task-Id", task) is None:
        message = f"the branch {worktree.branch} exists in {project.work_tree} and is not this task's work"
        raise GitError(Code.BRANCH_EXISTS, message, f"git branch -m {worktree.branch} another-name")


def _started_from(worktree: Worktree, tip: str) -> Worktree:
    """The base may have moved on since the branch was made; the work starts where they parted."""
    return structs.replace(worktree, base=meeting_point(worktree, worktree.base, tip) or worktree.base)


def _with_working_directory(worktree: Worktree) -> Worktree:
    if not worktree.cwd.resolve().is_relative_to(worktree.path.resolve()):
        raise PathEscape(f"{worktree.repository.prefix} leads out of the worktree {worktree.path}")
    worktree.cwd.mkdir(parents=True, exist_ok=True)
    return worktree


def _taken(worktree: Worktree) -> GitError:
    message = f"git already has a worktree named {worktree.path.name} somewhere else"
    return GitError(Code.BRANCH_EXISTS, message, "git worktree list shows it")
