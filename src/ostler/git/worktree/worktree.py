"""Creates the worktree of a task, finds it again after a crash, and removes it."""

from __future__ import annotations

import logging
from pathlib import Path

from msgspec import structs

from ostler.errors import Code, GitError, PathEscape
from ostler.files.failpoint import reach
from ostler.git.commit.heads import attach_head, find_merge_base, move_branch, read_heads
from ostler.git.commit.trailers import find_commit_by_trailer, is_ahead
from ostler.git.identity import OSTLER
from ostler.git.ref_files import read_ref
from ostler.git.refs import check_branch_name
from ostler.git.repository import Repository, Worktree, locate_worktree
from ostler.git.run.command import LONG_SECONDS, query_git, run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.run.lock import hold_lock
from ostler.git.run.safe_config import read_config_entries
from ostler.git.worktree.registration import (
    INCOMPLETE_REASON,
    WorktreeState,
    has_pointer,
    inspect_worktree,
    register_worktree,
    restore_pointers,
    unregister_worktree,
)
from ostler.git.worktree.trash import checking_out, discard, empty_trash
from ostler.git.worktree.worktree_pool import (
    PoolEntry,
    WorktreePool,
    claim_tree,
    forget_tree,
    install_tree,
    park_tree,
    record_tree,
)

_OWN_SETTINGS = "extensions.worktreeconfig"
_log = logging.getLogger(__name__)


@with_git_errors
def prepare_worktree(
    project: Repository, path: Path, branch: str, base: str, task: str, pool_size: int = 0
) -> Worktree:
    """Create the task's worktree or find it; after a crash at any point, a second call completes it.

    Up to `pool_size` released trees are kept; a new worktree is made from one of them if that is safe.
    """
    worktree = locate_worktree(project, path, check_branch_name(branch), base)
    pool = WorktreePool(path.parent, pool_size)
    with hold_lock(project.common_dir) as lock:
        match inspect_worktree(worktree):
            case WorktreeState.COMPLETE:
                worktree = _reuse_existing(worktree)
            case WorktreeState.UNREGISTERED:
                worktree = _restore_registration(project, worktree, task)
            case WorktreeState.NAME_TAKEN:
                raise _create_name_taken_error(worktree)
            case WorktreeState.ABSENT:
                worktree = _create(project, worktree, task, pool, lock)
            case WorktreeState.INCOMPLETE | WorktreeState.LOST:
                _discard_worktree(worktree)
                worktree = _create(project, worktree, task, pool, lock)
    return _create_working_directory(worktree)


@with_git_errors
def release_worktree(worktree: Worktree, pool_size: int = 0) -> None:
    """Remove a worktree by a rename; its branch stays. Up to `pool_size` trees are kept."""
    with hold_lock(worktree.repository.common_dir):
        pool = WorktreePool(worktree.path.parent, pool_size)
        park_tree(pool, worktree.path, worktree.path.name)
        reach("worktree.parked")
        _discard_worktree(worktree)
        forget_tree(pool, worktree.path.name)


def remove_worktree(worktree: Worktree) -> int:
    """Remove a worktree and delete its files; return how many could not be deleted."""
    release_worktree(worktree)
    return empty_trash(worktree.path.parent)


def _create(project: Repository, worktree: Worktree, task: str, pool: WorktreePool, lock: int) -> Worktree:
    tip = _read_branch_tip(project, worktree)
    if tip:
        _require_own_branch(project, worktree, tip, task)
    worktree.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with checking_out():
        _check_out(project, worktree, tip, pool, lock)
    return _update_base(worktree, tip) if tip else worktree


def _check_out(project: Repository, worktree: Worktree, tip: str, pool: WorktreePool, lock: int) -> None:
    """Use a tree of the pool if one fits, else check out all files."""
    name, commit = worktree.path.name, tip or worktree.base
    entry = claim_tree(pool, name, project, commit)
    if entry is not None:
        reach("worktree.claimed")
        if _install_pooled_tree(project, worktree, tip, entry, lock):
            record_tree(pool, name, worktree.repository, commit)
            (worktree.repository.git_dir / "locked").unlink()
            return
        tip = _read_branch_tip(project, worktree)  # the branch may exist now
    _check_out_files(project, worktree, tip, lock)
    record_tree(pool, name, worktree.repository, commit)


def _install_pooled_tree(
    project: Repository, worktree: Worktree, tip: str, entry: PoolEntry, lock: int
) -> bool:
    """Create the worktree from a tree of the pool, locked until it is complete; remove it if that fails."""
    try:
        _register(project, worktree, tip, lock)
        reach("worktree.registered")
        install_tree(entry, worktree.repository, tip or worktree.base, pass_fds=(lock,))
        reach("worktree.fitted")
    except (GitError, OSError) as reason:
        _log.info("%s is checked out again: %s", worktree.path, reason)
        discard(entry.path, worktree.path.parent)
        _discard_worktree(worktree)
        return False
    return True


def _check_out_files(project: Repository, worktree: Worktree, tip: str, lock: int) -> None:
    _register(project, worktree, tip, lock)
    reset = ("reset", "--hard", "--quiet")
    run_git(worktree.repository, *reset, timeout_seconds=LONG_SECONDS, pass_fds=(lock,))
    (worktree.repository.git_dir / "locked").unlink()


def _register(project: Repository, worktree: Worktree, tip: str, lock: int) -> None:
    """Create the branch and the worktree without files, locked until it is complete.

    For a new branch this is one process; `git worktree add` is four. It refuses a branch that is checked out
    elsewhere, and copies the settings of a worktree.
    """
    if not tip and _OWN_SETTINGS not in (name for name, _ in read_config_entries(project)):
        args = ("update-ref", "-m", "ostler: start", worktree.ref, worktree.base, "0" * len(worktree.base))
        run_git(project, *args, pass_fds=(lock,))
        register_worktree(worktree, is_complete=False)
        return
    path = str(worktree.path)
    target = (path, worktree.branch) if tip else ("--no-track", "-b", worktree.branch, path, worktree.base)
    locked = ("--no-checkout", "--lock", "--reason", INCOMPLETE_REASON)
    args = ("worktree", "add", "--quiet", *locked, *target)
    run_git(project, *args, timeout_seconds=LONG_SECONDS, pass_fds=(lock,))


def _reuse_existing(worktree: Worktree) -> Worktree:
    restore_pointers(worktree)
    heads = read_heads(worktree)
    if not heads.attached and find_merge_base(worktree, heads.tip, heads.head) == heads.tip:
        move_branch(worktree, heads, heads.head, OSTLER)
        attach_head(worktree)
    return _update_base(worktree, heads.tip)


def _restore_registration(project: Repository, worktree: Worktree, task: str) -> Worktree:
    tip = _read_branch_tip(project, worktree)
    if not tip:
        message = f"{worktree.path} has files but no branch: {worktree.branch} does not exist"
        raise GitError(Code.WORKTREE_LOST, message, "move that directory away")
    if not has_pointer(worktree):
        # Its missing files would be committed as deleted.
        message = f"{worktree.path} has files and is not a worktree"
        raise GitError(Code.WORKTREE_LOST, message, "move that directory away")
    _require_own_branch(project, worktree, tip, task)
    register_worktree(worktree)
    run_git(worktree.repository, "read-tree", worktree.ref)
    return _update_base(worktree, tip)


def _discard_worktree(worktree: Worktree) -> None:
    discard(worktree.path, worktree.path.parent)
    unregister_worktree(worktree)


def _read_branch_tip(project: Repository, worktree: Worktree) -> str:
    found = read_ref(project, worktree.ref)
    if found is None:
        return query_git(project, "for-each-ref", "--format=%(objectname)", worktree.ref)
    return found


def _require_own_branch(project: Repository, worktree: Worktree, tip: str, task: str) -> None:
    """Raise unless the branch has no commits of its own, or one with this task's id."""
    has_work = is_ahead(project, worktree.base, tip)
    if has_work and find_commit_by_trailer(project, worktree.base, tip, "Task-Id", task) is None:
        message = (
            f"the branch {worktree.branch} exists in {project.work_tree} and does not belong to this task"
        )
        raise GitError(
            Code.BRANCH_EXISTS, message, f"rename it with git branch -m {worktree.branch} another-name"
        )


def _update_base(worktree: Worktree, tip: str) -> Worktree:
    """Set the base to the merge base: the base branch may have moved since the branch was created."""
    return structs.replace(worktree, base=find_merge_base(worktree, worktree.base, tip) or worktree.base)


def _create_working_directory(worktree: Worktree) -> Worktree:
    if not worktree.cwd.resolve().is_relative_to(worktree.path.resolve()):
        raise PathEscape(f"{worktree.repository.prefix} is outside of the worktree {worktree.path}")
    worktree.cwd.mkdir(parents=True, exist_ok=True)
    return worktree


def _create_name_taken_error(worktree: Worktree) -> GitError:
    message = f"git already has another worktree named {worktree.path.name}"
    return GitError(Code.BRANCH_EXISTS, message, "see git worktree list")
