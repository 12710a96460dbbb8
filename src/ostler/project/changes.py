"""What a task changed, as a patch."""

from __future__ import annotations

from pathlib import Path

from ostler.errors import UsageError
from ostler.git.diff import diff, diff_worktree
from ostler.git.repository import worktree_at
from ostler.model.ids import TaskId
from ostler.project.project import Project


def changes_of(project: Project, task: TaskId) -> bytes:
    """The patch from the task's base to its branch, with what is not committed yet."""
    state = project.state(task)
    repository = project.repository()
    if repository is None or state.branch is None or state.base is None:
        where = (
            "the project is not a git repository" if repository is None else f"{task} has not been started"
        )
        raise UsageError(f"there is nothing to compare: {where}", f"ostler show {task}")
    if state.worktree is not None and Path(state.worktree).is_dir():
        return diff_worktree(worktree_at(repository, Path(state.worktree), state.branch, state.base))
    return diff(repository, state.base, state.branch)
