"""Uncommitted changes of the project: a task starts from a commit, so they are not part of it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.errors import OstlerError, UsageError
from ostler.git.commit.uncommitted import commit_uncommitted, list_uncommitted
from ostler.git.kept import keep_start_commit
from ostler.git.names import format_files
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.model.task import Task
from ostler.project.project import Project

_TIMEOUT_SECONDS = 10.0  # a warning is not worth a longer wait


def describe_uncommitted(project: Project, tasks: Iterable[Task]) -> str:
    """Return a warning about changes that these new tasks will not have; empty if there is none."""
    if not any(not task.is_document and not task.start_commit for task in tasks):
        return ""
    try:
        repository = project.worktree_repository()
        files = () if repository is None else list_uncommitted(repository, _TIMEOUT_SECONDS)
    except OstlerError:
        # A repository that cannot be read is reported when the task runs.
        return ""
    if not files:
        return ""
    count = "1 file has" if len(files) == 1 else f"{len(files)} files have"
    return (
        f"{count} uncommitted changes ({format_files(files, 3)}), which are not part of the task. "
        "Commit them first, or create the task with --include-changes."
    )


def add_with_changes(project: Project, task: Task) -> Task:
    """Add a task that starts from a commit of the uncommitted changes; the checkout stays as it is."""
    repository = project.worktree_repository()
    if repository is None or task.is_document:
        what = "a document task has no worktree" if repository else "the project has no worktrees"
        raise UsageError(f"--include-changes cannot be used: {what}", "omit --include-changes")
    _require_target_checked_out(repository, project.settings.git.target)
    commit = commit_uncommitted(repository, f"[ostler] uncommitted changes for: {task.title}")
    _push_for_workers(repository, commit, project.settings)
    added = project.add(replace(task, start_commit=commit))
    keep_start_commit(repository, added.id, commit)
    return added


def _push_for_workers(repository: Repository, commit: str, settings: Settings) -> None:
    """Push the commit that a worker on another machine starts from."""
    if not settings.engine.moves_tasks:
        return
    # Only a cluster needs them.
    from ostler.git.move.task_ref import find_shared_base, find_start_ref, push_commit  # noqa: PLC0415
    from ostler.git.publish.secrets import require_no_secrets  # noqa: PLC0415

    if not settings.git.allow_secrets:
        require_no_secrets(repository, find_shared_base(repository, settings.engine.remote, commit), commit)
    push_commit(find_start_ref(repository, settings.engine.remote, commit), commit, lambda: True)


def _require_target_checked_out(repository: Repository, target: str) -> None:
    found = find_base(repository).branch
    if target and found != target:
        raise UsageError(
            f"--include-changes needs {target} (git.target) to be checked out, not {found or 'a commit'}",
            f"git switch {target}",
        )
