"""A project: its settings, its tasks, and decisions about them; starts no agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.config.find import find_root
from ostler.config.live import LiveSettings
from ostler.engine.dependencies import TaskStatuses, find_cycle, list_unmet
from ostler.errors import SettingsInvalid, UsageError
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import DecisionRecorded, Event, FeedLine
from ostler.model.events.disposal import DisposalEvent, TaskRemoved
from ostler.model.ids import (
    TaskId,
    explain_ambiguous,
    find_adopted_id,
)
from ostler.model.notice import AgentReported
from ostler.model.policy.budget import find_task_budget
from ostler.model.policy.protection import list_differences
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task
from ostler.model.task_record import find_current_task
from ostler.project.agents.inside_sandbox import refuse_in_sandbox, require_accessible
from ostler.project.agents.login import find_login_command
from ostler.project.running.current_attempt import CurrentAttempt, find_current_attempt, require_person
from ostler.secrets.registry import SECRETS
from ostler.store.open_store import open_store
from ostler.store.sql_journal import SqlJournal
from ostler.views.task import TaskView, add_given, add_refused, find_calls, view_task

if TYPE_CHECKING:
    from ostler.config.load import Loaded
    from ostler.config.settings import Settings
    from ostler.executors.registry import ExecutorRegistry
    from ostler.git.repository import Repository
    from ostler.project.inspection.setup import Setup
    from ostler.prompt.report import AgentReport
    from ostler.store.store import Store


class Project:
    """An open project; closes its journal at the end."""

    def __init__(
        self,
        layout: Layout,
        load: Callable[[], Loaded] | LiveSettings,
        journal: SqlJournal | Callable[[], SqlJournal],  # a function creates it at its first use
        environ: Mapping[str, str] | None = None,
        store: Store | None = None,  # by default the project's file
    ) -> None:
        self.layout = layout
        self.store = store or open_store(layout)
        self.environ = environ or {}
        self._live = None if callable(load) else load
        self._load = load if callable(load) else load.read
        self._journal = journal
        self._clock = SystemClock()
        self.notes: tuple[str, ...] = ()  # what opening the project changed, for the user
        self.executors: ExecutorRegistry | None = None  # those of a program that uses the library

    @classmethod
    def open(
        cls,
        start: Path,
        environ: Mapping[str, str],
        flags: Mapping[str, object] | None = None,
        create: bool = False,
        *,
        defer: bool = False,
        adds_tasks: bool = True,
    ) -> Self:
        """Open the project that contains `start`; with `create`, create one there if none is found.

        With `defer` it is created when its journal is used, so that a refused command leaves none behind.
        On a server only a command that adds tasks creates it.
        """
        root = find_root(start, environ)
        if root is None and not create:
            raise UsageError(f"no Ostler project in {start} or above it", "create one: ostler init")
        layout = Layout(root or start.resolve())
        refuse_in_sandbox(environ, layout)
        live = LiveSettings(layout.root, environ, flags or {})
        SECRETS.add_source(live.list_secrets)
        store = require_accessible(open_store(layout, live.read_store()), environ, layout.root)
        # A server is not given a new project because its URL or schema is misspelled.
        create = create and (adds_tasks or store.file is not None)
        create = create or (store.file is not None and layout.settings.exists() and not store.exists())
        if create:
            live.read()  # invalid settings create nothing
        if root is None and create and defer:
            return cls(layout, live, lambda: store.open_project(create=True).journal, environ, store)
        opened = store.open_project(create=create)
        project = cls(layout, live, opened.journal, environ, store)
        project.notes = opened.notes
        return project

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(self._journal, SqlJournal):
            self._journal.close()

    @property
    def journal(self) -> SqlJournal:
        """The journal; that of a new project is created now."""
        if not isinstance(self._journal, SqlJournal):
            self._journal = self._journal()
        return self._journal

    def open_again(self, environ: Mapping[str, str] | None = None) -> Project:
        """Return the project with a journal of its own, for another thread."""
        return Project(self.layout, lambda: self.loaded, self.store.open_journal(), environ, self.store)

    def create(self) -> None:
        """Create the directories and the journal of a new project."""
        _ = self.journal

    @property
    def loaded(self) -> Loaded:
        """The settings, read on use: tasks can be listed even when they are invalid."""
        return self._load()

    def report_settings_changes(self, print_message: Callable[[str], None]) -> None:
        """Print a line when a settings file changes or becomes invalid."""
        if self._live is not None:
            self._live.print_message = print_message

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def explicit_settings(self) -> frozenset[str]:
        """The settings that a flag or a variable sets, not a file."""
        sources = self.loaded.sources.items()
        return frozenset(key for key, source in sources if source.layer in ("environment", "flag"))

    def add(self, task: Task) -> Task:
        """Add a task and return it with its id; it is durable when this returns."""
        from ostler.project.tasks.adding import add_task  # noqa: PLC0415  (reading a status needs no plan)

        return add_task(self, task)

    def resolve(self, text: str) -> TaskId:
        """Return the task with this id or id prefix; raises UsageError."""
        found = (self.journal.find(text) or self.journal.find(find_adopted_id(text))) if text else []
        if len(found) == 1:
            return found[0]
        if not found:
            from ostler.project.inspection.unknown_task import create_unknown_error  # noqa: PLC0415

            raise create_unknown_error(self, text)
        raise explain_ambiguous(text, found)

    def find_removal(self, task: TaskId) -> float | None:
        """Return when a task was removed; its id is not used again."""
        last = self.journal.read(task)[-1:] if task else []
        return next((one.at for one in last if isinstance(one.event, TaskRemoved)), None)

    def tasks(self, *, archived: bool = False) -> list[TaskView]:
        """Return the tasks that are not archived, or those that are."""
        return self.views([row for row in self.journal.rows() if (row.archived_at is not None) == archived])

    def views(self, rows: Sequence[TaskRow]) -> list[TaskView]:
        """Return these tasks without their attempts."""
        statuses = self.journal.statuses({task for row in rows for task in row.after})
        return [self._view(row, statuses, with_attempts=False) for row in rows]

    def show(self, task: TaskId) -> TaskView:
        row = self._find_row(task)
        view = self._view(row, self.journal.statuses(row.after), with_attempts=True)
        view = add_refused(view, self.journal.refusals(task))
        unused = self.list_unused_settings(decode_state(row))
        given = replace(self.task(task), budget_usd=self.task_budget(task))
        return replace(add_given(view, given), pending_settings=unused, pool=self.name_pool(given))

    def name_pool(self, task: Task) -> str:
        """Return the worker pool of the task's agents, also while the settings are invalid."""
        from ostler.calls.models.slots import name_pool  # noqa: PLC0415  (listing tasks needs no pools)

        try:
            return name_pool(task.feature, task.priority, self.settings.pools)
        except SettingsInvalid:
            return name_pool(task.feature, task.priority)

    def list_unused_settings(self, state: State) -> tuple[str, ...]:
        """Return the looser settings that an open task does not use; none if the settings are invalid."""
        from ostler.engine.steps.gates.choice import find_baseline, read_protection  # noqa: PLC0415

        if state.status in TERMINAL:
            return ()
        try:
            live = read_protection(self.task(state.task), state.plan, self.settings)
        except SettingsInvalid:
            return ()
        found = list_differences(find_baseline(state, live), live, self.explicit_settings)
        return tuple(one.text for one in found)

    def state(self, task: TaskId) -> State:
        return decode_state(self._find_row(task))

    def task(self, task: TaskId) -> Task:
        """Return the task as it was added, with its edits."""
        found = find_current_task(self.journal.read(task))
        assert found is not None
        return found

    def now(self) -> float:
        """Return the time for a record."""
        return self._clock.now()

    def feed(self, after: int, task: TaskId | None) -> list[FeedLine]:
        return self.journal.feed(after, task)

    def task_budget(self, task: TaskId) -> float | None:
        """Return the budget of a task in US dollars; None: as in the settings."""
        return find_task_budget(self.journal.read(task))

    def act(self, task: TaskId, name: str, **values: object) -> TaskView:
        """Record a person's decision about a task (see actions.py); the active or next run applies it."""
        # Not for reading.
        from ostler.project.person import read_user_name  # noqa: PLC0415

        self.require_person("decide about tasks")
        state = self.record_action(task, name, read_user_name(), values)
        is_removed = state.removed_at is not None
        return self._view(build_row(state), {}, with_attempts=False) if is_removed else self.show(task)

    def validate_action(self, task: TaskId, name: str, **values: object) -> None:
        """Raise UsageError if the task's state does not allow the action."""
        from ostler.project.actions import decode_params, find_action  # noqa: PLC0415

        (action := find_action(name)).decide(self.state(task), decode_params(action, values))

    def record_action(self, task: TaskId, name: str, by: str, values: dict[str, object]) -> State:
        """Record a decision about a task and who or what made it; return its new state."""
        # Reading a status decides nothing.
        from ostler.engine.records import append_computed_event  # noqa: PLC0415
        from ostler.engine.task_files import write_state_file  # noqa: PLC0415
        from ostler.project.actions import decode_params, find_action  # noqa: PLC0415

        action = find_action(name)
        params = decode_params(action, values)
        if action.complete is not None:
            params = action.complete(task, params, self.running_attempts(task))

        def decide(state: State) -> Event:
            event = action.decide(state, params)
            return replace(event, by=by) if isinstance(event, DecisionRecorded | DisposalEvent) else event

        state = append_computed_event(self.journal, task, decide, self._clock.now())
        if not self.is_claimed(task) and not state.has_no_files:
            make_private_dir(self.layout.task(task))
            write_state_file(state, self.layout)
        return state

    def running_attempts(self, task: TaskId) -> list[Attempt]:
        """Return the attempts of a task that run now; one whose run is dead does not count."""
        started = [one for one in self.journal.attempts(task) if one.status == "running"]
        if not started or not self.is_claimed(task):
            return []
        from ostler.project.processes.owner import is_owner_dead  # noqa: PLC0415  (few commands need it)

        return [one for one in started if not is_owner_dead(one)]

    def report(self, task: TaskId, attempt: int, report: AgentReport) -> None:
        """Record an agent's report about its task, while its attempt is running."""
        newest = [(one.number, one.status) for one in self.journal.attempts(task)[-1:]]
        if newest != [(attempt, "running")]:
            raise UsageError(f"attempt {attempt} of {task} has ended", "only the running agent can report")
        self.journal.notify(task, self._clock.now(), [AgentReported(attempt, report.status, report.reason)])

    def setup(self) -> Setup:
        """Return what the preflight inspects."""
        from ostler.executors.registry import ExecutorRegistry  # noqa: PLC0415  (reading a status needs no executors)
        from ostler.project.inspection.setup import Setup  # noqa: PLC0415

        return Setup(self.layout.root, self.loaded, self.environ, self.executors or ExecutorRegistry())

    def repository(self) -> Repository | None:
        """Return the repository with the commits of the tasks; None without git."""
        from ostler.git.discovery import discover_repository  # noqa: PLC0415  (reading a status starts no program)

        return discover_repository(self.layout.root)

    def worktree_repository(self) -> Repository | None:
        """Return the repository for worktrees; None when tasks use the project's directory, one at a time."""
        return self.repository() if self.settings.git.worktree else None

    def is_claimed(self, task: TaskId) -> bool:
        """Return whether a run has claimed the task, on this machine or another one."""
        from ostler.project.cluster.claimed import is_claimed  # noqa: PLC0415  (few tasks are in progress)

        return is_claimed(task, self.journal, self.layout)

    @cached_property
    def current_attempt(self) -> CurrentAttempt | None:
        """The attempt that this process belongs to, if an agent started it."""
        return find_current_attempt(self.environ, self.layout.root)

    def require_person(self, what: str) -> None:
        """Raise UsageError inside a task: `what` is for a person to do."""
        require_person(self.current_attempt, what)

    def _find_row(self, task: TaskId) -> TaskRow:
        row = self.journal.row(task)
        if row is None:
            raise UsageError(f"no task {task}", "run ostler status to see the tasks")
        return row

    def _view(self, row: TaskRow, statuses: TaskStatuses, with_attempts: bool) -> TaskView:
        attempts = self.journal.attempts(row.id) if with_attempts else []
        abandoned = row.status == TaskStatus.IN_PROGRESS and not self.is_claimed(row.id)
        records = self.journal.read(row.id) if with_attempts else []
        calls = find_calls(records) if with_attempts else None
        unmet, locate = list_unmet(row, statuses), self.layout.worktree_of_record
        login = find_login_command(row, self.journal)
        return view_task(row, attempts, abandoned, unmet, login, calls, locate, records)

    def find_dependencies(self, named: tuple[TaskId, ...], of: TaskId | None = None) -> tuple[TaskId, ...]:
        """Return the tasks with these ids or id prefixes; raises UsageError for a cycle with `of`."""
        found = tuple(dict.fromkeys(self.resolve(task) for task in named))
        after = {row.id: row.after for row in self.journal.open_rows()} | ({of: found} if of else {})
        if found and (cycle := find_cycle(found, after)):
            raise UsageError(f"dependency cycle: {' -> '.join(cycle)}", "leave out one of these dependencies")
        return found
