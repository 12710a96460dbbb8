"""The changes of a task as a patch, and the files that a branch changed (`ostler run --changed`)."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.files.protected import is_guarded
from ostler.git.commit.diff import diff_commits, list_changed_files, list_touched_files
from ostler.git.repository import Repository
from ostler.git.run.command import query_git
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.reviews.ends import find_ends, reading

_MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_MAX_LISTED = 500


def read_patch(project: Project, task: TaskId) -> bytes:
    """Return the patch from the base of the task to its last commit, including uncommitted changes.

    It reads the recorded commits, not the branch: a merged branch may be deleted. Raises UsageError.
    """
    ends = find_ends(project, task)
    with reading(ends, task):
        return diff_commits(ends.repository, ends.base, ends.head)


def list_guarded_changes(project: Project, task: TaskId) -> tuple[str, ...]:
    """Return the changed files that agents, editors or CI execute. Raises UsageError."""
    ends = find_ends(project, task)
    with reading(ends, task):
        return tuple(filter(is_guarded, list_touched_files(ends.repository, ends.base, ends.head)))


def find_branch_changes(project: Project, base: str) -> tuple[str, tuple[str, ...]]:
    """Return the base branch and the files that changed since the current branch left it.

    An empty base means git.target, or else the main branch.
    """
    repository = project.repository()
    if repository is None:
        raise UsageError(
            "--changed needs a git repository", "run it in a git repository, or leave out --changed"
        )
    name = base or project.settings.git.target or _find_main_branch(repository)
    fork = (
        query_git(repository, "merge-base", "--end-of-options", name, "HEAD")
        if _commit_exists(repository, name)
        else ""
    )
    if not fork:
        raise UsageError(f"{name!r} has no common commit with this branch", "name a branch: --changed BRANCH")
    return name, list_changed_files(repository, fork, "HEAD")


def append_file_list(task: Task, base: str, files: tuple[str, ...]) -> Task:
    """Return the task with the list of files appended to its description."""
    listed = "\n".join(f"- {path}" for path in files[:_MAX_LISTED])
    more = f"\n- and {len(files) - _MAX_LISTED} more" if len(files) > _MAX_LISTED else ""
    return replace(task, body=f"{task.body}\n\nFiles changed since {base}:\n\n{listed}{more}\n".lstrip())


def _find_main_branch(repository: Repository) -> str:
    found = next((name for name in _MAIN_BRANCHES if _commit_exists(repository, name)), "")
    if not found:
        raise UsageError("cannot find the main branch to compare with", "name a branch: --changed BRANCH")
    return found


def _commit_exists(repository: Repository, name: str) -> bool:
    return bool(
        query_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    )
