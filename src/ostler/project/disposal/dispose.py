"""Removes and purges tasks: records it, then deletes what they left.

The record comes first, so that a call that was killed in between is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager

from ostler.engine.core.evolve import fold
from ostler.errors import UsageError
from ostler.files.lock import try_lock
from ostler.model.events.disposal import TaskPurged, TaskRemoved
from ostler.model.ids import TaskId
from ostler.model.rows import is_purged
from ostler.model.state import State
from ostler.project.decisions.dispose import has_run_error
from ostler.project.disposal.delete import delete_remains, empty_trashes
from ostler.project.disposal.remains import RemainsFinder
from ostler.project.disposal.uploaded import mark_uploaded
from ostler.project.person import read_user_name
from ostler.project.project import Project
from ostler.views.task import TaskView


def dispose_task(project: Project, task: TaskId, name: str, values: dict[str, object]) -> TaskView:
    """Remove or purge a task (`name` is the action), and return it as it was recorded."""
    if name == "rm":
        return remove_tasks(project, [task])[0]
    project.require_person("decide about tasks")
    project.validate_action(task, name, **values)
    require_no_dependents(project, task)
    with _hold(project, task):
        state = project.record_action(task, name, read_user_name(), values)
        _delete(project, state, branches=bool(values.get("branches")))
    empty_trashes(project)
    return project.show(task)


def remove_tasks(project: Project, tasks: Iterable[TaskId]) -> list[TaskView]:
    """Remove tasks that never ran, all or none of them."""
    project.require_person("decide about tasks")
    named = list(dict.fromkeys(tasks))
    for task in named:
        project.validate_action(task, "rm")
        if project.journal.attempts(task):
            raise has_run_error(project.state(task))
        require_no_dependents(project, task, named)
    with ExitStack() as locks:
        for task in named:
            locks.enter_context(_hold(project, task))
        with project.journal.transaction():
            views = [project.act(task, "rm") for task in named]
        for task in named:
            _delete(project, fold(project.journal.read(task)), branches=False)
    empty_trashes(project)
    return views


def finish_disposals(project: Project) -> list[TaskId]:
    """Delete what interrupted calls left of removed and purged tasks; return these tasks."""
    project.require_person("decide about tasks")
    finder, finished = RemainsFinder(project.layout, project.repository()), list[TaskId]()
    for name in sorted(finder.list_names()):
        found = _find_disposed(project, TaskId(name))
        if found is None or finder.find(found[0], branches=found[1]).is_empty:
            continue
        state, branches = found
        held = try_lock(project.layout.lock(state.task))
        if held is None:
            continue  # another call deletes it now
        with held:
            _delete(project, state, branches=branches)
        finished.append(state.task)
    empty_trashes(project)
    return finished


def require_no_dependents(project: Project, task: TaskId, others: Iterable[TaskId] = ()) -> None:
    """Raise if another open task depends on the task and is not disposed of too."""
    if found := [one for one in list_dependents(project, task) if one not in others]:
        raise UsageError(
            f"{', '.join(found)} {'depends' if len(found) == 1 else 'depend'} on {task}",
            f'ostler edit {found[0]} --after ""   or   ostler cancel {found[0]}',
        )


def list_dependents(project: Project, task: TaskId) -> list[TaskId]:
    """Return the open tasks that depend on this one."""
    return [row.id for row in project.journal.open_rows() if task in row.after]


def _find_disposed(project: Project, task: TaskId) -> tuple[State, bool] | None:
    """Return the state of a removed or purged task, and whether its branch is deleted if it is not merged."""
    row = project.journal.row(task)
    records = project.journal.read(task) if row is None or is_purged(row) else []
    events = [one.event for one in records if isinstance(one.event, TaskPurged | TaskRemoved)]
    return (fold(records), _deletes_branch(events[-1])) if events else None


def _deletes_branch(event: TaskPurged | TaskRemoved) -> bool:
    return isinstance(event, TaskPurged) and event.branch


def _delete(project: Project, state: State, *, branches: bool) -> None:
    mark_uploaded(project, state)
    remains = RemainsFinder(project.layout, project.repository()).find(state, branches=branches)
    delete_remains(project, state, remains)


@contextmanager
def _hold(project: Project, task: TaskId) -> Generator[None]:
    """Hold the lock of the task, so that no run claims it meanwhile."""
    held = try_lock(project.layout.lock(task))
    if held is None:
        raise UsageError(
            f"{task} is in use by another process: a run, a shell or an agent",
            f"ostler cancel {task}   ends its run",
        )
    with held:
        yield
