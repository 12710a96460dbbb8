"""A task about what a branch has changed: `ostler run --changed`, for hooks and continuous integration."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.git.command import ask
from ostler.git.diff import changed_files
from ostler.git.repository import Repository
from ostler.model.task import Task
from ostler.project.project import Project

_USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_MOST = 500


def changed_since(project: Project, base: str) -> tuple[str, tuple[str, ...]]:
    """The commit that the branch left `base` at, and the files that it has changed since.

    An empty base is git.target, else the main branch as far as one can tell.
    """
    repository = project.repository()
    if repository is None:
        raise UsageError("--changed needs a git repository", "leave it out here")
    name = base or project.settings.git.target or _main_branch(repository)
    fork = (
        ask(repository, "merge-base", "--end-of-options", name, "HEAD") if _exists(repository, name) else ""
    )
    if not fork:
        raise UsageError(f"{name!r} is no commit that this branch comes from", "--changed BRANCH names one")
    return name, changed_files(repository, fork, "HEAD")


def with_files(task: Task, base: str, files: tuple[str, ...]) -> Task:
    """The task, with the list of files below what it says."""
    listed = "\n".join(f"- {path}" for path in files[:_MOST])
    more = f"\n- and {len(files) - _MOST} more" if len(files) > _MOST else ""
    return replace(task, body=f"{task.body}\n\nFiles changed since {base}:\n\n{listed}{more}\n".lstrip())


def _main_branch(repository: Repository) -> str:
    found = next((name for name in _USUAL if _exists(repository, name)), "")
    if not found:
        raise UsageError("there is no main branch to compare with", "--changed BRANCH names one")
    return found


def _exists(repository: Repository, name: str) -> bool:
    return bool(ask(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"))
