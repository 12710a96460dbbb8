"""Commits of tasks that another machine of the cluster made."""

from __future__ import annotations

import logging

from ostler.errors import GitError, UsageError
from ostler.git.refs import has_commit
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.project.project import Project

_OUTAGE_SECONDS = 5.0  # a person waits
_log = logging.getLogger(__name__)


def has_workspace(project: Project, state: State) -> bool:
    """Return whether the workspace of a task, if it has one, is on this machine."""
    if not project.settings.engine.moves_tasks:
        return True
    from ostler.project.cluster.host import read_host_id  # noqa: PLC0415  (only a cluster has hosts)

    return state.workspace_host in ("", read_host_id(project.layout))


def fetch_task(project: Project, task: TaskId, commit: str) -> None:
    """Fetch the commits of a task unless this repository has the commit."""
    repository, engine = project.repository(), project.settings.engine
    if repository is None or has_commit(repository, commit):
        return
    from ostler.git.move.task_ref import fetch_commit, find_task_ref  # noqa: PLC0415  (only a cluster needs it)

    fetch_commit(find_task_ref(repository, engine.remote, task, _OUTAGE_SECONDS))


def push_judged(project: Project, task: TaskId, number: int, commit: str) -> None:
    """Push the commit of a review for other machines; nothing happens where tasks do not move."""
    repository, engine = project.repository(), project.settings.engine
    if repository is None or not engine.moves_tasks:
        return
    from ostler.git.move.task_ref import find_review_ref, push_commit  # noqa: PLC0415  (only a cluster needs it)

    try:
        ref = find_review_ref(repository, engine.remote, task, number, _OUTAGE_SECONDS)
        push_commit(ref, commit, lambda: True)
    except GitError as error:
        # The review must not be lost: this machine has the commit.
        _log.warning("the commit of review %d of %s is only on this machine: %s", number, task, error.message)


def fetch_judged(project: Project, task: TaskId, number: int, commit: str) -> None:
    """Fetch the commit of a review unless this repository has it."""
    repository, engine = project.repository(), project.settings.engine
    if repository is None or not engine.moves_tasks or has_commit(repository, commit):
        return
    from ostler.git.move.task_ref import fetch_commit, find_review_ref  # noqa: PLC0415  (only a cluster needs it)

    fetch_commit(find_review_ref(repository, engine.remote, task, number, _OUTAGE_SECONDS))


def require_workspace(project: Project, state: State) -> None:
    """Raise UsageError if the workspace is on another machine: an old one here is not that of the task."""
    if has_workspace(project, state):
        return
    from ostler.git.move.task_ref import find_task_ref_name  # noqa: PLC0415  (only a cluster needs it)

    fetch = f"git fetch {project.settings.engine.remote} {find_task_ref_name(state.task)}"
    raise UsageError(
        f"the workspace of {state.task} is on {state.workspace_host}", f"{fetch}   gets its commits here"
    )
