"""A project as a person sees it: its settings, its tasks, and what may be said about them. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.config.find import find_root
from ostler.engine.dependencies import Standing, find_cycle, unmet
from ostler.engine.post import RULES, answer, create
from ostler.engine.projection import project, project_task
from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.git.repository import Repository
from ostler.model.allowance import allowance_of
from ostler.model.attempt import TaskRow
from ostler.model.event import Event, FeedLine, TaskCreated
from ostler.model.ids import TaskId, tail_of, task_id
from ostler.model.notice import AgentReported
from ostler.model.rows import state_of
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project import steering
from ostler.store.sqlite import SqliteJournal
from ostler.views.task import TaskView, view_task

if TYPE_CHECKING:
    from ostler.config.load import Loaded
    from ostler.config.settings import Settings
    from ostler.prompt.report import Word

_LONGEST_TITLE = 200


class Project:
    """Opened by every command; closes its journal at the end."""

    def __init__(self, layout: Layout, load: Callable[[], Loaded], journal: SqliteJournal) -> None:
        self.layout = layout
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
        """The project around `start`; with `create`, one is made there when none is found."""
        root = find_root(start, environ)
        if root is None and not create:
            raise UsageError(f"no Ostler project in {start} or above it", "ostler init makes one here")
        layout = Layout(root or start.resolve())
        load = _settings_of(layout, environ, flags or {})
        if create:
            load()  # a mistake in them leaves no trace
            make_state(layout)
        return cls(layout, load, SqliteJournal(layout.database, create=create))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.journal.close()

    @property
    def loaded(self) -> Loaded:
        """Read when they are first asked for: tasks can be looked at whatever is wrong with them."""
        return self._load()

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    def add(self, task: Task) -> Task:
        """Write a task down; when this returns it is never lost."""
        title = " ".join(task.title.split())
        if not title:
            raise UsageError("a task needs a title", 'ostler new "Fix the login redirect"')
        if len(title) > _LONGEST_TITLE:
            raise UsageError(
                f"the title has {len(title)} characters; {_LONGEST_TITLE} are the most", "use -d or -f"
            )
        from ostler.project.documents import with_output  # noqa: PLC0415  (reading a status makes no plan)
        from ostler.project.planning import plan_task  # noqa: PLC0415

        plan = plan_task(task, self.loaded, self.layout.root)
        task = replace(task, after=self._find_dependencies(task.after))
        while True:
            named = replace(task, id=task.id or task_id(title, tail_of(os.urandom(4))), title=title)
            if named.is_document:
                named = with_output(named, self.layout.root, self.settings)
            created = TaskCreated(named, plan, RULES, os.urandom(16).hex())
            make_private_dir(self.layout.task(named.id))  # before: a run may take the task at once
            if create(self.journal, created, self._clock.now()) is not None:
                break
            if task.id:
                return self.task(task.id)  # its id says that it is the same one
        project_task(named, self.layout)
        return named

    def resolve(self, text: str) -> TaskId:
        """The one task that an id, or the beginning of one, names."""
        found = self.journal.find(text) if text else []
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"no task {text or 'with an empty id'}", "ostler status lists them")
        raise UsageError(f"{text} could be {', '.join(found[:5])}", "use more of the id")

    def tasks(self) -> list[TaskView]:
        return self.views(self.journal.rows())

    def views(self, rows: Sequence[TaskRow]) -> list[TaskView]:
        """These tasks as lists show them, without their attempts."""
        standing = self.journal.statuses({task for row in rows for task in row.after})
        return [self._view(row, standing, with_attempts=False) for row in rows]

    def show(self, task: TaskId) -> TaskView:
        row = self.journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "ostler status lists them")
        return self._view(row, self.journal.statuses(row.after), with_attempts=True)

    def state(self, task: TaskId) -> State:
        row = self.journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "ostler status lists them")
        return state_of(row)

    def task(self, task: TaskId) -> Task:
        """What was asked, as it was said."""
        first = self.journal.read(task)[0].event
        assert isinstance(first, TaskCreated)
        return first.task

    def feed(self, after: int, task: TaskId | None) -> list[FeedLine]:
        return self.journal.feed(after, task)

    def cancel(self, task: TaskId, reason: str = "") -> TaskView:
        """Write down that a task should end, and why; whoever carries it stops it."""
        return self._steer(task, lambda state: steering.cancel(state, reason))

    def allowance(self, task: TaskId) -> float | None:
        """What a task may cost in all; None: as the settings say."""
        return allowance_of(self.journal.read(task))

    def retry(self, task: TaskId, budget_usd: float | None = None) -> TaskView:
        """Open a task again that failed, was cancelled or waits; its history and its cost stay."""
        return self._steer(task, lambda state: steering.retry(state, budget_usd))

    def pause(self, task: TaskId) -> TaskView:
        """Let a task rest where it stands; whoever carries it stops its agent."""
        return self._steer(task, steering.pause)

    def resume(self, task: TaskId, text: str = "") -> TaskView:
        """Let a resting task go on, with a word for its agent."""
        return self._steer(task, lambda state: steering.resume(state, text))

    def approve(self, task: TaskId, text: str = "") -> TaskView:
        """Say yes at the gate where a task waits."""
        return self._steer(task, lambda state: steering.approve(state, text))

    def reject(self, task: TaskId, text: str) -> TaskView:
        """Say no there; the work goes back with the reason."""
        return self._steer(task, lambda state: steering.reject(state, text))

    def skip(self, task: TaskId, phase: str, reason: str) -> TaskView:
        """Leave a phase out."""
        return self._steer(task, lambda state: steering.skip(state, phase, reason))

    def rewind(self, task: TaskId, phase: str, text: str = "") -> TaskView:
        """Go back to the beginning of a phase, from wherever the task stands."""
        return self._steer(task, lambda state: steering.rewind(state, phase, text))

    def report(self, task: TaskId, attempt: int, word: Word) -> None:
        """An agent's own word about its task; only while that attempt runs."""
        newest = [(one.number, one.status) for one in self.journal.attempts(task)[-1:]]
        if newest != [(attempt, "running")]:
            raise UsageError(f"attempt {attempt} of {task} is over", "only the agent at work can report")
        self.journal.notify(task, self._clock.now(), [AgentReported(attempt, word.said, word.reason)])

    def repository(self) -> Repository | None:
        """Where worktrees are made; None where tasks share the project's own directory, one at a time."""
        from ostler.git.discovery import discover  # noqa: PLC0415  (reading a status starts no program)

        return discover(self.layout.root) if self.settings.git.worktree else None

    def in_hand(self, task: TaskId) -> bool:
        """Whether a run carries the task at this moment."""
        return is_locked(self.layout.lock(task)) or is_locked(self.layout.in_place_lock)

    def _steer(self, task: TaskId, judge: Callable[[State], Event]) -> TaskView:
        """Write a person's word down; nothing is started, and whoever carries the task acts on it."""
        state = answer(self.journal, task, judge, self._clock.now())
        if not self.in_hand(task):
            make_private_dir(self.layout.task(task))
            project(state, self.layout)
        return self.show(task)

    def _view(self, row: TaskRow, standing: Standing, with_attempts: bool) -> TaskView:
        attempts = self.journal.attempts(row.id) if with_attempts else []
        abandoned = row.status == TaskStatus.IN_PROGRESS and not self.in_hand(row.id)
        return view_task(row, attempts, abandoned, unmet(row, standing))

    def _find_dependencies(self, named: tuple[TaskId, ...]) -> tuple[TaskId, ...]:
        """The tasks that these ids, or beginnings of ids, name; raises where they wait for themselves."""
        found = tuple(dict.fromkeys(self.resolve(task) for task in named))
        if found and (cycle := find_cycle(found, {row.id: row.after for row in self.journal.open_rows()})):
            raise UsageError(f"{' -> '.join(cycle)} wait for each other", "cancel one of them first")
        return found


def _settings_of(
    layout: Layout, environ: Mapping[str, str], flags: Mapping[str, object]
) -> Callable[[], Loaded]:
    @cache
    def load() -> Loaded:
        from ostler.config.load import load_settings  # noqa: PLC0415

        return load_settings(layout.root, environ, flags)

    return load


def make_state(layout: Layout) -> None:
    """The .ostler directory: private, and invisible to git."""
    for folder in (layout.state, layout.state / "tasks", layout.state / "locks", layout.worktrees):
        make_private_dir(folder)
    ignore = layout.state / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")
