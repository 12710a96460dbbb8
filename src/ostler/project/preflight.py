"""What must hold before a run takes anything: checked first, so that a refusal leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ostler.clock import SystemClock, rfc3339
from ostler.engine.dependencies import unmet
from ostler.engine.schedule import takeable
from ostler.errors import OstlerError, UsageError
from ostler.executors.registry import ExecutorRegistry
from ostler.files.disk import require_writable
from ostler.git.refs import check_ref, find_base
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TERMINAL
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents import require_sandbox
from ostler.project.pool import check_models, pool_for
from ostler.project.project import Project


def check_ready(project: Project, tasks: Iterable[Task]) -> None:
    """Raise when no worktree could be made here, or when no agent of one of these tasks can be used."""
    tasks = list(tasks)
    check_place(project, tasks)
    for task in tasks:
        needed = executors_of(project, task)
        refused = refusals(project, needed)
        if not needed:
            raise _all_disabled(project, task)
        if len(refused) == len(needed):
            raise refused[needed[0]]


def require_turn(project: Project, task: TaskId, others: list[TaskId]) -> None:
    """Raise when a run of these could not begin the task: one that is not among them comes first."""
    row = project.journal.row(task)
    if row is None or row.status not in EXECUTABLE:
        return
    standing = project.journal.statuses(row.after)
    first = [one for one in unmet(row, standing) if one not in others and standing.get(one) not in TERMINAL]
    if first and first[0] in standing:
        raise UsageError(
            f"{task} comes after {first[0]}, which is {standing[first[0]]}",
            f"ostler run {' '.join(first)} {task}   runs them in that order",
        )
    if row.not_before is not None and row.not_before > SystemClock.now():
        raise UsageError(f"{task} is not to begin before {rfc3339(row.not_before)}", f"ostler show {task}")


def ready_tasks(project: Project) -> tuple[list[TaskId], list[str]]:
    """What `run --all` may take, and a sentence for each agent whose tasks must wait.

    Raises when that is all of them, so that a machine without its agent fails no task.
    """
    tasks = due_tasks(project, [])
    check_place(project, tasks)
    due = [(task, executors_of(project, task)) for task in tasks]
    refused = refusals(project, (name for _, names in due for name in names))
    ready = [task.id for task, names in due if not refused.keys() >= set(names)]
    disabled = [_all_disabled(project, task) for task, names in due if not names]
    if due and not ready:
        raise next(iter((*refused.values(), *disabled)))
    needed = {name for task, names in due if task.id not in ready for name in names}
    waiting = [f"tasks for {name} wait: {refused[name].message}" for name in sorted(needed)]
    return ready, [*waiting, *(error.message for error in disabled)]


def refusals(project: Project, executors: Iterable[str]) -> dict[str, OstlerError]:
    """Those of the agents that cannot be used, each with the reason."""
    found: dict[str, OstlerError] = {}
    for name in sorted(set(executors)):
        try:
            require_sandbox(project.settings, name)
            executor = ExecutorRegistry().make(name, project.settings.executors, DefaultCommandRunner())
            executor.validate_availability()
        except OstlerError as error:
            found[name] = error
    return found


def check_place(project: Project, tasks: Sequence[Task]) -> None:
    """Raise when these could not work here, or a model names an agent that nobody knows.

    Documents need no worktree, so that they can be written where there is no commit yet.
    """
    check_models(project.loaded)
    settings, layout = project.settings, project.layout
    documents = tasks and all(task.is_document for task in tasks)
    repository = None if documents else project.repository()
    for place in (layout.state, layout.state / "locks", layout.state / "tasks"):
        require_writable(place)
    if repository is not None:
        require_writable(layout.worktrees)
        require_writable(repository.common_dir)
        find_base(repository, settings.git.target)
        check_ref(f"{settings.git.branch_prefix}task")


def due_tasks(project: Project, tasks: list[TaskId]) -> list[Task]:
    """These tasks, or all for none, as far as they can be taken now."""
    now = SystemClock.now()
    rows = [row for row in project.journal.open_rows() if not tasks or row.id in tasks]
    return [project.task(row.id) for row in rows if row.status not in TERMINAL and takeable(row, now)]


def executors_of(project: Project, task: Task) -> list[str]:
    """The agents that may work on a task, the first one first."""
    choices = pool_for(task, project.loaded).choices
    return list(dict.fromkeys(choice.executor for choice in choices if choice.enabled))


def _all_disabled(project: Project, task: Task) -> UsageError:
    names = ", ".join(choice.name for choice in pool_for(task, project.loaded).choices)
    return UsageError(
        f"every model that {task.id or task.title} may use is disabled: {names}",
        "set enabled = true for one of them in ostler.toml",
    )
