"""Checks before a run claims a task, so that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ostler.clock import SystemClock, format_rfc3339
from ostler.engine.dependencies import list_unmet
from ostler.engine.task_queue import is_runnable
from ostler.errors import OstlerError, UsageError
from ostler.executors.registry import ExecutorRegistry
from ostler.files.disk import require_writable
from ostler.git.refs import check_branch_name, find_base
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TERMINAL
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import require_sandbox
from ostler.project.agents.model_pool import select_models, validate_models
from ostler.project.project import Project


def check_ready(project: Project, tasks: Iterable[Task]) -> None:
    """Raise when a worktree cannot be created, or when no agent of one of these tasks is usable."""
    tasks = list(tasks)
    check_project(project, tasks)
    for task in tasks:
        needed = list_executors(project, task)
        refused = check_executors(project, needed)
        if not needed:
            raise _create_disabled_error(project, task)
        if len(refused) == len(needed):
            raise refused[needed[0]]


def require_startable(project: Project, task: TaskId, others: list[TaskId]) -> None:
    """Raise when a run of these tasks could not start the task, because of a dependency or a start time."""
    row = project.journal.row(task)
    if row is None or row.status not in EXECUTABLE:
        return
    statuses = project.journal.statuses(row.after)
    first = [
        one for one in list_unmet(row, statuses) if one not in others and statuses.get(one) not in TERMINAL
    ]
    if first and first[0] in statuses:
        raise UsageError(
            f"{task} depends on {first[0]}, which is {statuses[first[0]]}",
            f"run them in order: ostler run {' '.join(first)} {task}",
        )
    if row.not_before is not None and row.not_before > SystemClock.now():
        raise UsageError(
            f"{task} starts no earlier than {format_rfc3339(row.not_before)}", f"ostler show {task}"
        )


def find_ready_tasks(project: Project) -> tuple[list[TaskId], list[str]]:
    """Return the tasks that `run --all` can start, and a message for each unusable agent.

    Raises when no task can start, so that a machine without its agent fails no task.
    """
    tasks = list_due_tasks(project, [])
    check_project(project, tasks)
    due = [(task, list_executors(project, task)) for task in tasks]
    refused = check_executors(project, (name for _, names in due for name in names))
    ready = [task.id for task, names in due if not refused.keys() >= set(names)]
    disabled = [_create_disabled_error(project, task) for task, names in due if not names]
    if due and not ready:
        raise next(iter((*refused.values(), *disabled)))
    needed = {name for task, names in due if task.id not in ready for name in names}
    waiting = [f"tasks for {name} wait: {refused[name].message}" for name in sorted(needed)]
    return ready, [*waiting, *(error.message for error in disabled)]


def check_executors(project: Project, executors: Iterable[str]) -> dict[str, OstlerError]:
    """Return the error of each executor that is not usable."""
    found: dict[str, OstlerError] = {}
    for name in sorted(set(executors)):
        try:
            require_sandbox(project.settings, name)
            executor = ExecutorRegistry().make(name, project.settings.executors, DefaultCommandRunner())
            executor.validate_availability()
        except OstlerError as error:
            found[name] = error
    return found


def check_project(project: Project, tasks: Sequence[Task]) -> None:
    """Raise when these tasks cannot run here, or when a model has an unknown executor.

    Documents need no worktree and therefore no commit.
    """
    validate_models(project.loaded)
    settings, layout = project.settings, project.layout
    documents = tasks and all(task.is_document for task in tasks)
    repository = None if documents else project.repository()
    for place in (layout.state, layout.state / "locks", layout.state / "tasks"):
        require_writable(place)
    if repository is not None:
        require_writable(layout.worktrees)
        require_writable(repository.common_dir)
        find_base(repository, settings.git.target)
        check_branch_name(f"{settings.git.branch_prefix}task")


def list_due_tasks(project: Project, tasks: list[TaskId]) -> list[Task]:
    """Return these tasks, or all if none are given, that can start now."""
    now = SystemClock.now()
    rows = [row for row in project.journal.open_rows() if not tasks or row.id in tasks]
    return [project.task(row.id) for row in rows if row.status not in TERMINAL and is_runnable(row, now)]


def list_executors(project: Project, task: Task) -> list[str]:
    """Return the executors that may run a task, the preferred one first."""
    choices = select_models(task, project.loaded).models
    return list(dict.fromkeys(choice.executor for choice in choices if choice.enabled))


def _create_disabled_error(project: Project, task: Task) -> UsageError:
    names = ", ".join(choice.name for choice in select_models(task, project.loaded).models)
    return UsageError(
        f"all models for {task.id or task.title} are disabled: {names}",
        "set enabled = true for one of them in ostler.toml",
    )
