"""Deletes what a removed or purged task left; after a crash at any point, a second call completes it."""

from __future__ import annotations

import logging

from ostler.files.failpoint import reach
from ostler.git.kept import delete_refs
from ostler.git.repository import Repository, locate_worktree
from ostler.git.worktree.trash import discard, empty_trash
from ostler.git.worktree.worktree import remove_worktree
from ostler.model.state import State
from ostler.project.disposal.remains import Remains
from ostler.project.project import Project

_log = logging.getLogger(__name__)


def delete_remains(project: Project, state: State, remains: Remains) -> None:
    """Delete the worktree, the refs, the branch and the directories of a task; the caller has its lock."""
    reach("dispose.recorded")
    repository = project.repository()
    if remains.worktree is not None:
        _remove_worktree(project, state, repository)
    reach("dispose.worktree")
    if repository is not None:
        # The branch last: a second call finds it with the same rule.
        delete_refs(repository, remains.refs)
        reach("dispose.refs")
        delete_refs(repository, [f"refs/heads/{remains.branch}"] if remains.branch else [])
    reach("dispose.branch")
    for folder in reversed(remains.directories):
        discard(folder, project.layout.state)
        reach("dispose.directory")


def empty_trashes(project: Project) -> None:
    """Delete what was discarded, also by an interrupted call."""
    left = empty_trash(project.layout.worktrees) + empty_trash(project.layout.state)
    if left:
        _log.warning("discarded files that could not be deleted in %s: %d", project.layout.state, left)


def _remove_worktree(project: Project, state: State, repository: Repository | None) -> None:
    path = project.layout.worktree(state.task)
    if repository is None or state.branch is None or state.base is None:
        discard(path, project.layout.worktrees)
        return
    remove_worktree(locate_worktree(repository, path, state.branch, state.base))
