"""Deletes what a removed or purged task left; after a crash at any point, a second call completes it."""

from __future__ import annotations

import logging

from ostler.errors import GitError
from ostler.files.failpoint import reach
from ostler.git.kept import delete_refs
from ostler.git.move.task_ref import (
    KNOWN_REFS,
    delete_remote_refs,
    find_recorded_ref,
    find_start_ref,
    find_task_ref,
    list_review_refs,
)
from ostler.git.repository import Repository, locate_worktree
from ostler.git.worktree.trash import discard, empty_trash
from ostler.git.worktree.worktree import remove_worktree
from ostler.model.state import State
from ostler.project.disposal.remains import Remains
from ostler.project.disposal.uploaded import delete_uploaded
from ostler.project.project import Project

_OUTAGE_SECONDS = 5.0  # a person waits
_log = logging.getLogger(__name__)


def delete_remains(project: Project, state: State, remains: Remains) -> None:
    """Delete the reviews, worktree, refs, branch, blobs and directories of a task; the caller has its lock.

    Raises BlobsUnavailable.
    """
    reach("dispose.recorded")
    project.journal.reviews.delete(state.task)
    reach("dispose.reviews")
    repository = project.repository()
    if remains.worktree is not None:
        _remove_worktree(project, state, repository)
    reach("dispose.worktree")
    if repository is not None:
        # The branch last: a second call finds it with the same rule.
        delete_refs(repository, _select_refs(project, remains))
        reach("dispose.refs")
        _delete_remote_refs(project, state, repository)
        delete_refs(repository, [f"refs/heads/{remains.branch}"] if remains.branch else [])
    reach("dispose.branch")
    # Before the directories: by those, the next call finds a task whose blobs could not be deleted.
    delete_uploaded(project, state)
    reach("dispose.blobs")
    for folder in reversed(remains.directories):
        discard(folder, project.layout.state)
        reach("dispose.directory")


def _select_refs(project: Project, remains: Remains) -> list[str]:
    """Return the refs to delete; that of the remote marks the task until nothing of it is there."""
    moves = project.settings.engine.moves_tasks
    return [ref for ref in remains.refs if not (moves and ref.startswith(f"{KNOWN_REFS}/"))]


def _delete_remote_refs(project: Project, state: State, repository: Repository) -> None:
    """Delete what other machines fetched; a failure must not keep the files of the task."""
    engine = project.settings.engine
    if not engine.moves_tasks:
        return
    place = (repository, engine.remote)
    try:
        delete_remote_refs(
            find_task_ref(*place, state.task, _OUTAGE_SECONDS),
            find_recorded_ref(*place, state.task, _OUTAGE_SECONDS),
            *((find_start_ref(*place, state.start_commit, _OUTAGE_SECONDS),) if state.start_commit else ()),
            *list_review_refs(*place, state.task, _OUTAGE_SECONDS),
        )
    except GitError as error:
        _log.warning("the commits of %s are still at the remote: %s", state.task, error.message)


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
