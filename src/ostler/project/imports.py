"""Tasks that were found elsewhere become the project's: all of them or none, and each one once."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from ostler.engine.dependencies import find_cycle
from ostler.engine.pipeline import levels
from ostler.errors import Code, OstlerError
from ostler.model.ids import TaskId, tail_of, task_id
from ostler.model.task import Task
from ostler.project.agents import known_executor
from ostler.project.documents import with_output
from ostler.project.planning import plan_task
from ostler.project.project import Project
from ostler.prompt.role import find_agent
from ostler.sources.found import Found, digest_of


class Imported(Struct, frozen=True):
    """A task that was found, as the project has it now."""

    task: Task
    is_new: bool


def import_tasks(project: Project, found: Sequence[Found], mistakes: Sequence[str] = ()) -> list[Imported]:
    """Add those that are not here yet, in one transaction; raises with every mistake, and adds none."""
    wanted = {one.task.source: one for one in found if not one.skipped}
    _check(project, list(wanted.values()), mistakes)
    with project.journal.transaction():
        taken = _Taken(project)
        placed = [taken.place(one.task) for one in wanted.values()]
        new = {one.task.id: one.task for one in placed if one.is_new}
        added = {task.id: project.add(task) for row in levels(list(new.values())) for task in row}
    return [replace(one, task=added.get(one.task.id, one.task)) for one in placed]


def place_once(project: Project, task: Task, tail: str = "") -> Imported:
    """The task of that source, added if it is not here; call it inside a transaction."""
    placed = _Taken(project).place(task, tail)
    return Imported(project.add(placed.task), is_new=True) if placed.is_new else placed


class _Taken:
    """The ids that the project has; a new task's own comes from its source, so that a title may change."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._by_tail: dict[str, dict[TaskId, str | None]] = {}  # each with its source, once that is known
        for row in project.journal.rows():
            self._shelf(row.id)[row.id] = None

    def place(self, task: Task, tail: str = "") -> Imported:
        """The task with its id, or the one that came from the same place before."""
        if task.id:
            return self._place_named(task)
        for drawn in _tails(task.source, tail):
            chosen = task_id(task.title, drawn)
            shelf = self._shelf(chosen)
            for other in shelf:
                if self._source(other) == task.source:
                    return Imported(self._project.task(other), is_new=False)
            if chosen not in shelf:
                shelf[chosen] = task.source
                return Imported(replace(task, id=chosen, sender=task.sender or task.source), is_new=True)
        raise AssertionError("there is no end of tails")

    def _place_named(self, task: Task) -> Imported:
        shelf = self._shelf(task.id)
        if task.id not in shelf:
            shelf[task.id] = task.source
            return Imported(task, is_new=True)
        if (other := shelf[task.id]) is not None:
            message = f"{other} and {task.source} both have the id {task.id}"
            raise OstlerError(Code.CONFIG_INVALID, message, "give one of them another id")
        return Imported(self._project.task(task.id), is_new=False)

    def _shelf(self, task: TaskId) -> dict[TaskId, str | None]:
        return self._by_tail.setdefault(task.rpartition("-")[2], {})

    def _source(self, task: TaskId) -> str:
        """Of a task of this import as it was placed, of others as the journal has it."""
        placed = self._shelf(task)[task]
        return self._project.task(task).source if placed is None else placed


def _tails(source: str, first: str) -> Iterator[str]:
    if first:
        yield first
    yield tail_of(digest_of(source))
    yield from (tail_of(digest_of(f"{source} {number}")) for number in count(2))


def _check(project: Project, found: Sequence[Found], known: Sequence[str]) -> None:
    """All that adding could refuse, before anything is written."""
    coming = {one.task.id: one.task.after for one in found if one.task.id}
    mistakes = [*known, *(mistake for one in found for mistake in _mistakes(project, one, coming))]
    if circle := find_cycle(coming, coming):
        mistakes.append(f"{' -> '.join(circle)} wait for each other")
    if mistakes:
        hint = "nothing was added; mend the lines, then try again"
        raise OstlerError(Code.CONFIG_INVALID, "\n".join(mistakes), hint)


def _mistakes(project: Project, found: Found, coming: Container[TaskId]) -> Iterator[str]:
    task, root = found.task, project.layout.root
    if not task.title:
        yield f"{found.where}: a task needs a title"
    checks = (
        lambda: find_agent(task.role, root),
        lambda: known_executor(project.settings, task.executor) if task.executor else None,
        lambda: plan_task(task, project.loaded, root),
        lambda: with_output(task, root, project.settings) if task.is_document else None,
        *(lambda one=one: project.resolve(one) for one in task.after if one not in coming),
    )
    for check in checks:
        try:
            check()
        except OstlerError as error:
            yield f"{found.where}: {error.message}"
