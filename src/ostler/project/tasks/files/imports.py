"""Adds imported tasks to a project: all or none, and each one only once."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import Settings
from ostler.engine.dependencies import find_cycle
from ostler.engine.pipeline import group_by_level
from ostler.errors import Code, OstlerError
from ostler.model.ids import TaskId, make_id_tail, make_task_id
from ostler.model.task import Task
from ostler.project.inspection.task import find_task_errors
from ostler.project.project import Project
from ostler.project.tasks.files.documents import resolve_output
from ostler.project.tasks.planning import plan_task
from ostler.sources.found import FoundTask, digest_of


class Imported(Struct, frozen=True):
    """An imported task as it is in the project now."""

    task: Task
    is_new: bool


def import_tasks(project: Project, found: Sequence[FoundTask], errors: Sequence[str] = ()) -> list[Imported]:
    """Add the new tasks in one transaction; on errors, raises with all of them and adds none."""
    project.require_person("import tasks")
    selected = {one.task.source: one for one in _resolve_external_ids(found) if not one.skipped}
    _check(project, list(selected.values()), errors)
    with project.journal.transaction():
        allocator = _IdAllocator(project)
        allocated = [allocator.allocate(one.task) for one in selected.values()]
        new = {one.task.id: one.task for one in allocated if one.is_new}
        added = {task.id: project.add(task) for row in group_by_level(list(new.values())) for task in row}
    return [replace(one, task=added.get(one.task.id, one.task)) for one in allocated]


def _resolve_external_ids(found: Sequence[FoundTask]) -> list[FoundTask]:
    """Return the tasks with dependencies such as TASK-001 replaced by the ids that those tasks get here."""
    ids = {one.task.external_id: one.task.id for one in found if one.task.external_id}

    def resolve(task: Task) -> Task:
        return replace(task, after=tuple(ids.get(one, one) for one in task.after))

    return [replace(one, task=resolve(one.task)) for one in found]


def add_once(project: Project, task: Task, tail: str = "") -> Imported:
    """Return the task of this source and add it if it is new; call it inside a transaction."""
    allocated = _IdAllocator(project).allocate(task, tail)
    return Imported(project.add(allocated.task), is_new=True) if allocated.is_new else allocated


class _IdAllocator:
    """Chooses ids for new tasks; an id depends on the source, so that a changed title adds no second task."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._by_tail: dict[str, dict[TaskId, str | None]] = {}  # id to source; None: not read yet
        for row in project.journal.rows():
            self._ids_with_tail(row.id)[row.id] = None

    def allocate(self, task: Task, tail: str = "") -> Imported:
        """Return the task with an id, or the existing task of the same source."""
        if task.id:
            return self._allocate_named(task)
        for drawn in _generate_tails(task.source, tail):
            chosen = make_task_id(task.title, drawn)
            shelf = self._ids_with_tail(chosen)
            for other in shelf:
                if self._read_source(other) == task.source:
                    return Imported(self._project.task(other), is_new=False)
            if chosen not in shelf and self._project.find_removal(chosen) is None:
                shelf[chosen] = task.source
                return Imported(replace(task, id=chosen, sender=task.sender or task.source), is_new=True)
        raise AssertionError("the tails are infinite")

    def _allocate_named(self, task: Task) -> Imported:
        shelf = self._ids_with_tail(task.id)
        if task.id not in shelf:
            shelf[task.id] = task.source
            return Imported(task, is_new=True)
        if (other := shelf[task.id]) is not None:
            message = f"{other} and {task.source} both have the id {task.id}"
            raise OstlerError(Code.CONFIG_INVALID, message, "change one of the ids")
        return Imported(self._project.task(task.id), is_new=False)

    def _ids_with_tail(self, task: TaskId) -> dict[TaskId, str | None]:
        return self._by_tail.setdefault(task.rpartition("-")[2], {})

    def _read_source(self, task: TaskId) -> str:
        """Return the source of a task of this import, or of the journal."""
        placed = self._ids_with_tail(task)[task]
        return self._project.task(task).source if placed is None else placed


def _generate_tails(source: str, first: str) -> Iterator[str]:
    if first:
        yield first
    yield make_id_tail(digest_of(source))
    yield from (make_id_tail(digest_of(f"{source} {number}")) for number in count(2))


def _check(project: Project, found: Sequence[FoundTask], source_errors: Sequence[str]) -> None:
    """Raise with every error that adding could raise, before anything is written."""
    new_tasks = {one.task.id: one.task.after for one in found if one.task.id}
    errors = [
        *source_errors,
        *(mistake for one in found for mistake in _find_errors(project, one, new_tasks)),
    ]
    if circle := find_cycle(new_tasks, new_tasks):
        errors.append(f"dependency cycle: {' -> '.join(circle)}")
    if errors:
        hint = "fix these lines and try again; nothing was added"
        raise OstlerError(Code.CONFIG_INVALID, "\n".join(errors), hint)


def _find_errors(project: Project, found: FoundTask, new_tasks: Container[TaskId]) -> Iterator[str]:
    task, root = found.task, project.layout.root
    if not task.title:
        yield f"{found.location}: a task needs a title"
    errors = [*find_task_errors(task, project.setup())]
    yield from (f"{found.location}: {error.message}" for error in errors)
    checks = (
        lambda: None if errors else plan_task(task, project.loaded, root),
        lambda: _check_document(task, root, project.settings) if task.is_document and not errors else None,
        *(lambda one=one: project.resolve(one) for one in task.after if one not in new_tasks),
    )
    for check in checks:
        try:
            check()
        except OstlerError as error:
            yield f"{found.location}: {error.message}"


def _check_document(task: Task, root: Path, settings: Settings) -> None:
    """Raise when the document may not be written; the id of a new task is not known yet."""
    resolve_output(replace(task, id=task.id or TaskId("new")), root, settings)
