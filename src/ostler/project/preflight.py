"""What must hold before a run takes anything: checked first, so that a refusal leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.clock import SystemClock
from ostler.engine.schedule import takeable
from ostler.executors.registry import ExecutorRegistry
from ostler.files.disk import require_writable
from ostler.git.refs import find_base
from ostler.model.ids import TaskId
from ostler.model.status import TERMINAL
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents import executor_for, require_sandbox
from ostler.project.project import Project


def check_ready(project: Project, executors: Iterable[str]) -> None:
    """Raise when no worktree could be made here, or when one of these agents cannot be used."""
    settings, layout = project.settings, project.layout
    repository = project.repository()
    for place in (layout.state, layout.state / "locks", layout.state / "tasks"):
        require_writable(place)
    if repository is not None:
        require_writable(layout.worktrees)
        require_writable(repository.common_dir)
        find_base(repository, settings.git.target)
    for name in sorted(set(executors)):
        require_sandbox(settings, name)
        ExecutorRegistry().make(name, settings.executors, DefaultCommandRunner()).validate_availability()


def due_tasks(project: Project, tasks: list[TaskId]) -> list[Task]:
    """These tasks, or all for none, as far as they can be taken now."""
    now = SystemClock.now()
    rows = [row for row in project.journal.open_rows() if not tasks or row.id in tasks]
    return [project.task(row.id) for row in rows if row.status not in TERMINAL and takeable(row, now)]


def executors_needed(project: Project, tasks: list[TaskId]) -> set[str]:
    """The agents of those tasks."""
    return {executor_for(task, project.loaded) for task in due_tasks(project, tasks)}
