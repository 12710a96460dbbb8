"""A project: its settings, its tasks, and decisions about them; starts no agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.config.find import find_root
from ostler.engine.dependencies import TaskStatuses, find_cycle, list_unmet
from ostler.engine.records import RULES, append_computed_event, create_task
from ostler.engine.task_files import write_state_file, write_task_file
from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.git.repository import Repository
from ostler.model.attempt import TaskRow
from ostler.model.budget import find_task_budget
from ostler.model.event import FeedLine, TaskCreated
from ostler.model.ids import TaskId, make_id_tail, make_task_id
from ostler.model.notice import AgentReported
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.actions import decode_params, find_action
from ostler.project.current_attempt import find_current_attempt
from ostler.store.sqlite import SqliteJournal
from ostler.views.task import TaskView, view_task

if TYPE_CHECKING:
    from ostler.config.load import Loaded
    from ostler.config.settings import Settings
    from ostler.prompt.report import AgentReport

_MAX_TITLE = 200


class Project:
    """An open project; closes its journal at the end."""

    def __init__(
        self,
        layout: Layout,
        load: Callable[[], Loaded],
        journal: SqliteJournal,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.layout = layout
        self._environ = environ or {}
        self._load = load
        self.journal = journal
        self._clock = SystemClock()

    @classmethod
    def open(
        cls,
        start: Path,
        environ: Mapping[str, str],
        flags: Mapping[str, object] | None = None,
        create: bool = False,
    ) -> Self:
        """Open the project that contains `start`; with `create`, create one there if none is found."""
        root = find_root(start, environ)
        if root is None and not create:
            raise UsageError(f"no Ostler project in {start} or above it", "create one: ostler init")
        layout = Layout(root or start.resolve())
        load = _create_loader(layout, environ, flags or {})
        if create:
            load()  # invalid settings create nothing
            create_state_folder(layout)
        return cls(layout, load, SqliteJournal(layout.database, create=create), environ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.journal.close()

    @property
    def loaded(self) -> Loaded:
        """The settings, read on first use: tasks can be listed even when they are invalid."""
        return self._load()

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    def add(self, task: Task) -> Task:
        """Add a task; it is durable when this returns."""
        try:
            task = msgspec.convert(msgspec.to_builtins(task), Task)
        except msgspec.ValidationError as error:
            reason, _, name = str(error).partition(" - at `$.")
            raise UsageError(f"invalid {name.rstrip('`') or 'task'}: {reason}") from None
        title = " ".join(task.title.split())
        if not title:
            raise UsageError("a task needs a title", 'ostler new "Fix the login redirect"')
        if len(title) > _MAX_TITLE:
            raise UsageError(
                f"the title has {len(title)} characters: expected at most {_MAX_TITLE}",
                "put the text into the description: -d or -f",
            )
        from ostler.project.tasks.documents import resolve_output  # noqa: PLC0415  (reading a status needs no plan)
        from ostler.project.tasks.planning import plan_task  # noqa: PLC0415

        plan = plan_task(task, self.loaded, self.layout.root)
        task = replace(task, after=self._find_dependencies(task.after))
        while True:
            named = replace(task, id=task.id or make_task_id(title, make_id_tail(os.urandom(4))), title=title)
            if named.is_document:
                named = resolve_output(named, self.layout.root, self.settings)
            created = TaskCreated(named, plan, RULES, os.urandom(16).hex())
            make_private_dir(
                self.layout.task(named.id)
            )  # before the record: a run may claim the task at once
            if create_task(self.journal, created, self._clock.now()) is not None:
                break
            if task.id:
                return self.task(task.id)  # a task with the same id is the same task
        write_task_file(named, self.layout)
        return named

    def resolve(self, text: str) -> TaskId:
        """Return the task with this id or id prefix; raises UsageError."""
        found = self.journal.find(text) if text else []
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"no task {text or 'with an empty id'}", "run ostler status to see the tasks")
        raise UsageError(f"{text} is ambiguous: {', '.join(found[:5])}", "use a longer prefix")

    def tasks(self) -> list[TaskView]:
        return self.views(self.journal.rows())

    def views(self, rows: Sequence[TaskRow]) -> list[TaskView]:
        """Return these tasks without their attempts."""
        statuses = self.journal.statuses({task for row in rows for task in row.after})
        return [self._view(row, statuses, with_attempts=False) for row in rows]

    def show(self, task: TaskId) -> TaskView:
        row = self.journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "run ostler status to see the tasks")
        return self._view(row, self.journal.statuses(row.after), with_attempts=True)

    def state(self, task: TaskId) -> State:
        row = self.journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "run ostler status to see the tasks")
        return decode_state(row)

    def task(self, task: TaskId) -> Task:
        """Return the task as it was added."""
        first = self.journal.read(task)[0].event
        assert isinstance(first, TaskCreated)
        return first.task

    def feed(self, after: int, task: TaskId | None) -> list[FeedLine]:
        return self.journal.feed(after, task)

    def task_budget(self, task: TaskId) -> float | None:
        """Return the budget of a task in US dollars; None: as in the settings."""
        return find_task_budget(self.journal.read(task))

    def act(self, task: TaskId, name: str, **values: object) -> TaskView:
        """Record a person's decision about a task (see actions.py); the active or next run applies it."""
        self._require_person()
        action = find_action(name)
        params = decode_params(action, values)
        state = append_computed_event(
            self.journal, task, lambda state: action.decide(state, params), self._clock.now()
        )
        if not self.is_claimed(task):
            make_private_dir(self.layout.task(task))
            write_state_file(state, self.layout)
        return self.show(task)

    def report(self, task: TaskId, attempt: int, report: AgentReport) -> None:
        """Record an agent's report about its task, while its attempt is running."""
        newest = [(one.number, one.status) for one in self.journal.attempts(task)[-1:]]
        if newest != [(attempt, "running")]:
            raise UsageError(f"attempt {attempt} of {task} has ended", "only the running agent can report")
        self.journal.notify(task, self._clock.now(), [AgentReported(attempt, report.status, report.reason)])

    def repository(self) -> Repository | None:
        """Return the repository for worktrees; None when tasks use the project's directory, one at a time."""
        from ostler.git.discovery import discover_repository  # noqa: PLC0415  (reading a status starts no program)

        return discover_repository(self.layout.root) if self.settings.git.worktree else None

    def is_claimed(self, task: TaskId) -> bool:
        """Return whether a run has claimed the task."""
        return is_locked(self.layout.lock(task)) or is_locked(self.layout.in_place_lock)

    def _require_person(self) -> None:
        """Raise inside a task: an agent must not approve, retry or cancel work."""
        current = find_current_attempt(self._environ, self.layout.root)
        if current is not None:
            raise UsageError(
                f"this process runs inside task {current.task}: only a person can decide about tasks",
                "ostler report --status needs_review",
            )

    def _view(self, row: TaskRow, statuses: TaskStatuses, with_attempts: bool) -> TaskView:
        attempts = self.journal.attempts(row.id) if with_attempts else []
        abandoned = row.status == TaskStatus.IN_PROGRESS and not self.is_claimed(row.id)
        return view_task(row, attempts, abandoned, list_unmet(row, statuses))

    def _find_dependencies(self, named: tuple[TaskId, ...]) -> tuple[TaskId, ...]:
        """Return the tasks with these ids or id prefixes; raises UsageError for a cycle."""
        found = tuple(dict.fromkeys(self.resolve(task) for task in named))
        if found and (cycle := find_cycle(found, {row.id: row.after for row in self.journal.open_rows()})):
            raise UsageError(f"dependency cycle: {' -> '.join(cycle)}", "cancel one of these tasks first")
        return found


def _create_loader(
    layout: Layout, environ: Mapping[str, str], flags: Mapping[str, object]
) -> Callable[[], Loaded]:
    @cache
    def load() -> Loaded:
        from ostler.config.load import load_settings  # noqa: PLC0415

        return load_settings(layout.root, environ, flags)

    return load


def create_state_folder(layout: Layout) -> None:
    """Create the .ostler directory: private, and ignored by git."""
    for folder in (layout.state, layout.state / "tasks", layout.state / "locks", layout.worktrees):
        make_private_dir(folder)
    ignore = layout.state / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")
