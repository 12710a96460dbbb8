"""Lets a person work in a task's workspace: no run can claim the task meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from ostler.config.settings import ExecutorSettings
from ostler.errors import UsageError
from ostler.executors.interactive import build_interactive_command
from ostler.files.lock import try_lock
from ostler.git.commit.diff import has_changed_since
from ostler.git.repository import Repository, locate_worktree
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.project.cluster.commits import require_workspace
from ostler.project.project import Project
from ostler.project.running.current_attempt import SHELL_VARIABLE


class TakenOver(Struct, frozen=True):
    """The workspace of a task that this process holds."""

    cwd: Path
    environ: dict[str, str]  # additions to that of the person


@contextmanager
def take_over(project: Project, task: TaskId) -> Generator[TakenOver]:
    """Hold the lock of a task; raises UsageError while a run has it, or without a workspace."""
    project.require_person("open the workspace of a task")
    state, repository = project.state(task), project.worktree_repository()
    require_workspace(project, state)
    alone = repository is not None or state.plan.is_document
    lock = try_lock(project.layout.lock(task) if alone else project.layout.in_place_lock)
    if lock is None:
        raise UsageError(
            f"{task} is in use by a run or by another shell", f"ostler pause {task}   stops its agent"
        )
    with lock:
        environ = {
            "OSTLER_TASK": task,
            SHELL_VARIABLE: task,
            "OSTLER_PROJECT": str(project.layout.root),
        }
        yield TakenOver(_find_workspace(state, project, repository), environ)


class SessionCommand(Struct, frozen=True):
    """The command that opens an agent's own program on a session."""

    executor: str
    argv: tuple[str, ...]


def find_session_command(project: Project, task: TaskId) -> SessionCommand:
    """Return the command that opens the agent's own program on the task's last session."""
    used = [one for one in project.journal.attempts(task) if one.session_id]
    if not used:
        raise UsageError(f"{task} has no session of an agent", f"ostler run {task}")
    last = used[-1]
    settings = project.settings.executors.get(last.executor, ExecutorSettings())
    argv = build_interactive_command(last.executor, settings, last.session_id)
    return SessionCommand(last.executor, tuple(argv))


def build_environment(environ: Mapping[str, str], taken: TakenOver) -> dict[str, str]:
    """Return the environment of the person's program."""
    return {**environ, **taken.environ}


def describe_changes(project: Project, task: TaskId) -> str:
    """Return a hint if the files differ from the commit that waits for a decision; empty otherwise."""
    state, repository = project.state(task), project.worktree_repository()
    waits = state.status is TaskStatus.NEEDS_REVIEW and state.branch and state.base and state.commit
    if not waits or repository is None or state.worktree is None:
        return ""
    path = project.layout.worktree(state.task)
    worktree = locate_worktree(repository, path, state.branch or "", state.base or "")
    if not has_changed_since(worktree, state.commit or ""):
        return ""
    return (
        f"The files differ from the commit that waits for you, and an approval does not include them. "
        f"ostler reject {task} -m TEXT   returns the work to its agent, with your changes."
    )


def _find_workspace(state: State, project: Project, repository: Repository | None) -> Path:
    if state.plan.is_document:
        return project.layout.task(state.task)
    if repository is None:
        return project.layout.root
    path = project.layout.worktree(state.task)
    if state.worktree is None or not path.is_dir() or state.branch is None or state.base is None:
        ended = state.status in TERMINAL and state.branch
        hint = f"its branch: git switch {state.branch}" if ended else f"ostler run {state.task}"
        raise UsageError(f"{state.task} has no worktree", hint)
    return locate_worktree(repository, path, state.branch, state.base).cwd
