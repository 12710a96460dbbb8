"""Lists, prunes and cleans up the worktrees of a project's tasks."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.engine.records import append_event
from ostler.engine.steps.workspaces.left import keep_left
from ostler.errors import GitError, OstlerError
from ostler.files.lock import try_lock
from ostler.git.commit.diff import has_changed_since
from ostler.git.commit.heads import read_heads
from ostler.git.kept import keep_task_commit
from ostler.git.refs import find_checkout
from ostler.git.repository import Repository, Worktree, locate_worktree
from ostler.git.run.command import query_git, run_git
from ostler.git.worktree.trash import discard, empty_trash
from ostler.git.worktree.worktree import remove_worktree
from ostler.git.worktree.worktree_pool import (
    WorktreePool,
    find_available_entries,
    find_pool,
    find_stale_entries,
)
from ostler.model.event import WorkspaceReleased
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TERMINAL
from ostler.project.cluster.claimed import is_claimed_here
from ostler.project.project import Project

_REMOVED = "removed with the worktree, by ostler worktree prune --force"


class TaskWorktree(Struct, frozen=True):
    """A worktree below .ostler/worktrees, or the files of a released one in the pool."""

    path: str
    task: str  # empty: not of a task of this project
    status: str
    branch: str | None
    uncommitted: bool
    in_use: bool
    warm: bool = False  # kept for the next task

    @property
    def is_idle(self) -> bool:
        """Whether its task does not need it any more."""
        return not self.in_use and (not self.task or self.status in TERMINAL)


def list_worktrees(project: Project) -> list[TaskWorktree]:
    """Return every worktree that Ostler created here, sorted by name."""
    home = project.layout.worktrees
    names = sorted(one.name for one in home.iterdir() if _is_worktree(one)) if home.is_dir() else []
    return [_describe_worktree(project, name) for name in names] + list_pooled(project)


def list_pooled(project: Project) -> list[TaskWorktree]:
    """Return the pooled worktrees, newest first."""
    found = find_available_entries(_pool(project))
    return [
        TaskWorktree(str(kept.tree), "", "", None, uncommitted=False, in_use=False, warm=True)
        for kept in found
    ]


def prune_worktrees(
    project: Project, force: bool = False, tasks: tuple[TaskId, ...] = ()
) -> tuple[list[TaskWorktree], list[TaskWorktree]]:
    """Remove idle worktrees, of all tasks or the named ones; return removed and remaining ones.

    With `force` also uncommitted work, and files that no commit contains and that are too large for a copy.
    """
    project.require_person("delete worktrees")
    idle = [one for one in list_worktrees(project) if one.is_idle and (not tasks or one.task in tasks)]
    removed = [
        worktree
        for worktree in idle
        if (force or not worktree.uncommitted) and _remove_idle(project, worktree, force)
    ]
    for forgotten in find_stale_entries(_pool(project)):
        discard(forgotten.path, project.layout.worktrees)
    empty_trash(project.layout.worktrees)
    return removed, [worktree for worktree in idle if worktree not in removed]


def delete_merged_branches(project: Project) -> list[str]:
    """Delete the branches of ended tasks that are merged into their target."""
    project.require_person("delete branches")
    repository = project.repository()
    if repository is None:
        return []
    ended = [project.state(row.id) for row in project.journal.rows() if row.status in TERMINAL]
    return [state.branch for state in ended if state.branch and _delete_if_merged(repository, state)]


def _is_worktree(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _describe_worktree(project: Project, name: str) -> TaskWorktree:
    row = project.journal.row(TaskId(name))
    state = project.state(TaskId(name)) if row else None
    return TaskWorktree(
        path=str(project.layout.worktrees / name),
        task=name if row else "",
        status=row.status if row else "",
        branch=state.branch if state else None,
        uncommitted=_has_uncommitted(project, name, state),
        in_use=is_claimed_here(TaskId(name), project.layout),
    )


def _find_worktree(project: Project, name: str, state: State | None) -> Worktree | None:
    repository = project.repository()
    if repository is None or state is None or state.branch is None or state.base is None:
        return None
    return locate_worktree(repository, project.layout.worktree(TaskId(name)), state.branch, state.base)


def _has_uncommitted(project: Project, name: str, state: State | None) -> bool:
    """A worktree that cannot be read may have uncommitted work."""
    worktree = _find_worktree(project, name, state)
    if worktree is None:
        return True
    try:
        return has_changed_since(worktree, read_heads(worktree).tip)
    except GitError:
        return True


def _pool(project: Project) -> WorktreePool:
    return find_pool(project.layout.worktrees, project.settings)


def _remove_idle(project: Project, worktree: TaskWorktree, force: bool) -> bool:
    if worktree.warm:
        return _remove_pooled(project, Path(worktree.path).parent)
    name = Path(worktree.path).name
    held = try_lock(project.layout.lock(TaskId(name)), retry=False)
    if held is None:
        return False
    try:
        released = _remove_files(project, name, force)
        if worktree.task:
            append_event(project.journal, TaskId(name), released, SystemClock.now())
        return not released.kept
    except OstlerError:
        return False
    finally:
        held.release()


def _remove_pooled(project: Project, kept: Path) -> bool:
    """Return False when a task has taken it in the meantime."""
    try:
        return discard(kept, project.layout.worktrees) is not None
    except FileNotFoundError:
        return False


def _remove_files(project: Project, name: str, force: bool) -> WorkspaceReleased:
    """Remove the worktree; copy what no commit contains first."""
    state = project.state(TaskId(name)) if project.journal.row(TaskId(name)) else None
    worktree = _find_worktree(project, name, state)
    if worktree is None or state is None:
        discard(project.layout.worktrees / name, project.layout.worktrees)
        return WorkspaceReleased()
    left = keep_left(state, worktree, project.settings.workspace, project.layout)
    if left.note and not force:
        return WorkspaceReleased(kept=True, left=left)
    remove_worktree(worktree)
    return WorkspaceReleased(left=replace(left, note=_REMOVED) if left.note else left)


def _delete_if_merged(repository: Repository, state: State) -> bool:
    target, ref = state.target, f"refs/heads/{state.branch}"
    tip = query_git(repository, "for-each-ref", "--format=%(objectname)", ref)
    if not target or not tip or state.worktree is not None:
        return False
    if find_checkout(repository, ref.removeprefix("refs/heads/")) is not None:
        return False
    merged = run_git(
        repository, "merge-base", "--is-ancestor", tip, f"refs/heads/{target}", accept=(0, 1, 128)
    )
    if merged.status != 0:
        return False
    keep_task_commit(repository, state.task, state.tip or state.commit or tip)
    run_git(repository, "update-ref", "-d", ref, tip)
    return True
