"""The changes of a task as a patch, and the files that a branch changed (`ostler run --changed`)."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.files.protected import is_guarded
from ostler.git.commit.diff import diff_commits, list_changed_files, list_touched_files, write_current_tree
from ostler.git.refs import has_commit
from ostler.git.repository import Repository, locate_worktree
from ostler.git.run.command import query_git
from ostler.git.worktree.registration import WorktreeState, inspect_worktree
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project

_MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_MAX_LISTED = 500


class CommitsGone(UsageError):
    """The commits of a task are not in the repository any more."""


def read_patch(project: Project, task: TaskId) -> bytes:
    """Return the patch from the base of the task to its last commit, including uncommitted changes.

    It reads the recorded commits, not the branch: a merged branch may be deleted. Raises UsageError.
    """
    return diff_commits(*_find_ends(project, task))


def list_guarded_changes(project: Project, task: TaskId) -> tuple[str, ...]:
    """Return the changed files that agents, editors or CI execute. Raises UsageError."""
    return tuple(filter(is_guarded, list_touched_files(*_find_ends(project, task))))


def _find_ends(project: Project, task: TaskId) -> tuple[Repository, str, str]:
    """Return the repository, the base of the task, and its last commit or the tree of its current files."""
    state = project.state(task)
    repository = project.repository()
    if repository is None or state.branch is None or state.base is None:
        where = (
            "the project is not a git repository" if repository is None else f"{task} has not been started"
        )
        raise UsageError(f"no changes to show: {where}", f"ostler show {task}")
    worktree = locate_worktree(repository, project.layout.worktree(task), state.branch, state.base)
    if state.worktree is not None and inspect_worktree(worktree) is WorktreeState.COMPLETE:
        return worktree.repository, worktree.base, write_current_tree(worktree)
    base, tip = state.base, state.tip or state.commit or state.base
    missing = next((commit for commit in (base, tip) if not has_commit(repository, commit)), "")
    if missing:
        raise CommitsGone(
            f"commit {missing:.10} of {task} is not in the repository any more", f"ostler show {task}"
        )
    return repository, base, tip


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
