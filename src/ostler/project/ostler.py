"""The Ostler object: a project that can run its tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ostler.calls.debugger import Debugger, EventDebugger, StoppingDebugger, adapt_debugger
from ostler.calls.models.availability import Unavailable
from ostler.calls.models.circuits import ACCOUNT_CODES
from ostler.calls.models.slots import PoolStats
from ostler.calls.services import CallServices
from ostler.clock import Clock, SystemClock
from ostler.engine.driver import LocalDriver, TaskSelection
from ostler.engine.steps.services import StepServices, TaskContext, lock_path, unchanged
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.engine.task_runner import TaskRunner
from ostler.errors import UsageError
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.files.atomic import remove_temporary_files
from ostler.files.lock import try_lock
from ostler.files.view import create_folders
from ostler.model.event import Event
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.outcome import Outcome
from ostler.model.policy.model_config import ModelConfig
from ostler.model.state import State
from ostler.model.task import Task
from ostler.process.forker_client import shared_forker
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner
from ostler.project.accept_settings import describe_unaccepted
from ostler.project.affordable import resume_affordable
from ostler.project.agents.call_services import apply_settings, create_call_services
from ostler.project.agents.executors import check_permissions
from ostler.project.agents.holds import HoldFinder
from ostler.project.agents.model_pool import find_models
from ostler.project.agents.model_preflight import ModelPreflight, list_models_to_check
from ostler.project.cluster.follow import WorkersDriver
from ostler.project.cluster.machine import settle_machine
from ostler.project.project import Project
from ostler.project.reviews.programs import ReviewMethods
from ostler.project.running.integrations import Integrations
from ostler.project.running.mirroring import mirror_writer
from ostler.project.tasks.files.proposal_files import take_in_proposals
from ostler.project.tasks.merged import approve_merged
from ostler.store.accounts.sqlite import open_accounts
from ostler.store.busy import RUN_WAIT_SECONDS
from ostler.store.run_writer import RunWriter
from ostler.views.feed import feed_json
from ostler.views.task import TaskView

if TYPE_CHECKING:
    from ostler.calls.sandbox.workspace import Workspace

_POLL_SECONDS = 0.2
_SETTINGS_SECONDS = 0.5  # how often the settings files are compared


class Ostler(ReviewMethods):
    """Adds tasks and runs them; use as `async with Ostler.open(".") as ostler`."""

    def __init__(
        self,
        project: Project,
        environ: Mapping[str, str],
        debugger: Debugger | EventDebugger | None = None,
        *,
        executors: ExecutorRegistry | None = None,
        amend: Callable[[Task], Task] | None = None,
        clock: Clock | None = None,
        print_message: Callable[[str], None] | None = None,
    ) -> None:
        project.store.require_complete()
        self.project = project
        self._environ = environ
        self._debugger = None if debugger is None else StoppingDebugger(adapt_debugger(debugger), self.stop)
        self._writer = project.store.open_writer(stop=project.journal.stop_request)
        self._run_writer: RunWriter | None = None  # created for the first run
        self._spawner = create_spawner(prefer_pty=False)
        self._registry = executors or ExecutorRegistry()
        project.executors = executors
        self._amend = amend or unchanged
        self._clock = clock or SystemClock()
        self._ledger = project.store.open_ledger(
            wait_seconds=RUN_WAIT_SECONDS, stop=project.journal.stop_request
        )
        self._print_message: Callable[[str], None] = print_message or (lambda _: None)
        self._accounts = open_accounts(environ, self._print_message)
        project.journal.wait_when_busy(RUN_WAIT_SECONDS)
        self._call_services: CallServices | None = None
        self._driver: LocalDriver | WorkersDriver | None = None
        self._integrations: Integrations | None = None
        self._preflight = ModelPreflight(project, self._registry, environ, self._clock, self._print_message)
        self._holds = HoldFinder(project, lambda: self._get_call_services().availability, self._clock)
        project.report_settings_changes(self._print_message)
        self.name = f"{os.uname().nodename}:{os.getpid()}:{os.urandom(4).hex()}"  # recorded with each claim

    @classmethod
    def open(cls, path: str | Path = ".", *, executors: ExecutorRegistry | None = None) -> Self:
        """Open the project in a directory or above it, and create one there when none is found.

        Raise UsageError when the directory does not exist. `executors` adds executors of your own.
        """
        start = Path(path)
        if not start.is_dir():
            raise UsageError(f"no directory {start}", "create it, or pass another path")
        project = Project.open(start, os.environ, create=True)
        return cls(project, os.environ, executors=executors)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
        self.project.journal.close()

    async def close(self) -> None:
        """Write pending records and release all resources."""
        await (self._run_writer or self._writer).close()
        if self._integrations is not None:
            await self._integrations.finish()
        self._ledger.close()
        self._accounts.close()
        if self._call_services is not None:
            await self._call_services.plugins.close()

    def create_workspace(self, task: TaskId, directory: Path | None) -> Workspace:
        """Return the files of a task's sandbox; without a directory, that of its agents is used."""
        state, services = self.project.state(task), self._create_step_services()
        cwd = directory or working_directory(state, services)
        return create_workspace(cwd, TaskContext(self.project.task(task), state, -1), services)

    async def add(self, task: Task) -> Task:
        """Add a task and return it with its id; raise UsageError for invalid fields."""
        return await asyncio.to_thread(self.project.add, task)

    def tasks(self, *, archived: bool = False) -> list[TaskView]:
        """Return the tasks that are not archived, or those that are, without their attempts."""
        return self.project.tasks(archived=archived)

    def task(self, task: str) -> TaskView:
        """Return one task by id or unique prefix, with its attempts."""
        return self.project.show(self.project.resolve(task))

    async def act(self, task: str, action: str, **values: object) -> TaskView:
        """Record a decision about a task: one of the actions of project/actions.py, such as approve."""
        from ostler.project.apply_action import apply_action  # noqa: PLC0415  (imported on use)

        found = self.project.resolve(task)
        view = await asyncio.to_thread(apply_action, self.project, self._environ, found, action, **values)
        if self._driver is not None:
            self._driver.wake_runners()
        return view

    async def start_pipeline(self, name: str, goal: str = "") -> str:
        """Add the tasks of a pipeline, named or by path, in one transaction; return the name of the run."""
        # A run of tasks needs no YAML.
        from ostler.project.pipelines.runs import start_named_run  # noqa: PLC0415

        return await asyncio.to_thread(start_named_run, self.project, name, goal)

    async def events(
        self, after: int = 0, task: str | None = None, follow: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events after a position of the feed, as `ostler events --json` prints them.

        With `follow` it waits for new events until it is closed.
        """
        found = None if task is None else self.project.resolve(task)
        while True:
            lines = self.project.feed(after, found)
            for line in lines:
                yield feed_json(line)
                after = line.position
            if not lines and not follow:
                return
            if not lines:
                await self._clock.sleep(_POLL_SECONDS)

    async def run(self, task: TaskId) -> Outcome:
        """Run one task until it ends or waits."""
        return (await self.run_all([task]))[0]

    async def run_all(
        self,
        tasks: list[TaskId] | None = None,
        jobs: int | None = None,
        *,
        wait: bool = False,
        fail_fast: bool = False,
        skip_locked: bool = False,
        details: bool = True,
        probe: bool = True,
        wait_for_outage: bool = True,
    ) -> list[Outcome]:
        """Run these tasks, or all that can start, in parallel. In a cluster its workers run them.

        `wait` waits for limits; `fail_fast` starts no task after a failure; `skip_locked` skips the tasks
        of other runs instead of waiting for them; `probe` calls a provider that needed a login or payment
        at once; `wait_for_outage` waits for a provider that is probed again within retry.max_delay_seconds.
        """
        if self.project.settings.engine.kind != "local":
            self._driver = WorkersDriver(self.project, self._environ, self._print_message, wait=wait)
            return await self._driver.run(tasks or ())
        # A run that does not wait prints at its end what it did not start.
        services = await self.prepare_run(probe=probe, restack=tasks is None, reports_holds=wait)
        self._driver = driver = LocalDriver(
            services,
            jobs or (lambda: self.project.settings.run.jobs),
            wait_for_deferred=wait,
            fail_fast=fail_fast,
            skip_locked=skip_locked,
            wait_for_outage=wait_for_outage,
        )
        async with self.watch_settings():
            models = list_models_to_check(self.project, tasks, self._clock.now())
            async with self._preflight.run(models, lambda: self._get_call_services().availability):
                outcomes = await driver.run(TaskSelection(tuple(tasks or ())))
        from ostler.project.tasks.lists.outcomes import add_details, read_outcomes  # noqa: PLC0415  (imported on use)

        outcomes += read_outcomes(self.project, set(tasks or ()) - {one.task_id for one in outcomes})
        if not details:
            return outcomes
        return await asyncio.to_thread(add_details, outcomes, self.project.layout, self.project.store)

    async def prepare_run(self, *, probe: bool, restack: bool, reports_holds: bool) -> StepServices:
        """Prepare this process for tasks; return what their steps depend on. `restack` asks GitHub."""
        self.project.require_person("run tasks")
        self._holds.print_message = self._print_message if reports_holds else None
        settle_machine(self.project)
        create_folders(self.project.layout)  # `git clean` may have deleted those in the project
        remove_temporary_files(self.project.layout.state)  # of a killed run
        if probe:
            self._accounts.make_due(ACCOUNT_CODES, self._clock.now())
        resume_affordable(self.project, self._clock.now())
        shared_forker().prepare_keeper()  # it starts while git creates the first worktree
        if self.project.settings.plugins.load:
            self._get_call_services()  # report a plugin that cannot be loaded before any task starts
        self.start_integrations()
        approve_merged(self.project)
        if restack:
            await self.publish_stacked_again()
        await self._apply_settings()  # they may have changed between two runs of a worker
        return self._create_step_services()

    @asynccontextmanager
    async def watch_settings(self) -> AsyncGenerator[None]:
        """Apply changed settings during the block."""
        watcher = asyncio.create_task(self._watch_settings())
        try:
            yield
        finally:
            watcher.cancel()
            await asyncio.wait({watcher})

    async def _apply_settings(self) -> None:
        """Let calls and messages from now on use the settings of this moment."""
        if self._call_services is not None:
            apply_settings(self._call_services, self.project.settings)
        if self._integrations is not None:
            await self._integrations.apply_settings()

    async def _watch_settings(self) -> None:
        """Report changed settings soon, also while agents work; a higher budget resumes tasks."""
        loaded = self.project.loaded
        while True:
            await self._clock.sleep(_SETTINGS_SECONDS)
            seen, loaded = loaded, self.project.loaded
            if loaded is not seen:
                await self._apply_settings()
                resume_affordable(self.project, self._clock.now())
                if message := describe_unaccepted(self.project):
                    self._print_message(message)

    @property
    def stop_reason(self) -> str:
        """Why the last run started no further task, because of failures of different tasks; empty: none."""
        return self._driver.stop_reason if self._driver is not None else ""

    @property
    def not_started(self) -> dict[TaskId, Unavailable | None]:
        """The ready tasks that the last run did not start, with the provider's reason; None: failures."""
        return self._driver.not_started if self._driver is not None else {}

    def find_hold(self, state: State) -> Unavailable | None:
        """Return why no model for a task may be called now, or may not for a task that has not begun."""
        return self._holds.find(state)

    async def publish_stacked_again(self) -> None:
        """Reopen tasks whose pull request is stacked on one that was merged; the next run publishes them."""
        from ostler.project.tasks.retarget import find_retargetable, list_stacked, reopen_stacked  # noqa: PLC0415  (imported on use)

        stacked = list_stacked(self.project)
        if stacked:
            merged, problem = await asyncio.to_thread(find_retargetable, stacked)
            for message in (*reopen_stacked(self.project, merged), *filter(None, (problem,))):
                self._print_message(message)

    def start_integrations(self) -> None:
        """Start notifications and telemetry until the object is closed; repeated calls do nothing."""
        if self._integrations is None:
            self._integrations = Integrations(self.project, self._environ, self._clock, self._print_message)

    def stop(self) -> None:
        """Stop the active tasks in a resumable state; `run` then returns."""
        if self._driver is not None:
            self._driver.stop()

    def cancel(self, task: TaskId, reason: str = "") -> None:
        """Cancel a task, which this run may be running; raises UsageError for an ended task."""
        self.project.act(task, "cancel", reason=reason)
        if self._driver is not None:
            self._driver.wake_runners()

    async def settle(self, task: TaskId) -> None:
        """Apply a decision about a task that no run has claimed; starts no agent."""
        services = self._create_step_services()
        held = try_lock(lock_path(self.project.state(task), services))
        try:
            if held is not None and self.project.state(task).cancel_requested:
                await TaskRunner(task, held, services).run()
        finally:
            await (self._run_writer or self._writer).close()

    async def flush(self) -> None:
        """Wait until everything is written to the journal."""
        await self._writer.flush()

    def pools(self) -> dict[str, PoolStats]:
        """Return the usage of each pool; empty before the first call."""
        return self._call_services.slots.stats() if self._call_services else {}

    def _create_step_services(self) -> StepServices:
        return StepServices(
            settings=self.project.settings,
            layout=self.project.layout,
            repository=self.project.worktree_repository(),
            journal=self.project.journal,
            writer=self._get_run_writer(),
            store=self.project.store,
            clock=self._clock,
            environ=self._environ,
            make_executor=self._create_executor,
            pool_for=partial(find_models, self.project),
            get_call_services=self._get_call_services,
            on_completed=self._on_completed,
            run=self.name,
            amend=self._amend,
            explicit_settings=self.project.explicit_settings,
            read_settings=lambda: self.project.settings,
            find_hold=self.find_hold,
            take_in_file=self._take_in_file,
            take_in_proposals=partial(take_in_proposals, self.project),
        )

    def _get_run_writer(self) -> RunWriter:
        if self._run_writer is None:
            self._run_writer = mirror_writer(self.project, self._writer)
        return self._run_writer

    def _take_in_file(self, state: State) -> Event | None:
        # Most runs find no changed file, and planning is not needed then.
        from ostler.project.tasks.edit import take_in_edited_file  # noqa: PLC0415

        return take_in_edited_file(self.project, state)

    def _on_completed(self, task: Task, state: State) -> tuple[Notice, ...]:
        """Runs in a thread, so it opens its own journal; repeating it has no effect."""
        from ostler.project.tasks.files.documents import create_follow_up  # noqa: PLC0415  (imported on use)
        from ostler.project.tasks.files.write_back import update_source  # noqa: PLC0415  (imported on use)

        if task.next:
            with self.project.open_again() as project:
                # Options of this run are not those of the next skill.
                project.add(create_follow_up(project.task(task.id), state))
        return update_source(task, state, self.project.layout)

    def _get_call_services(self) -> CallServices:
        if self._call_services is None:
            self._call_services = create_call_services(
                self.project, self._ledger, self._accounts, self._clock, self._debugger, self._preflight
            )
        return self._call_services

    def _create_executor(self, model: ModelConfig, lock: int) -> Executor:
        settings = self.project.settings
        check_permissions(settings, model)
        runner = DefaultCommandRunner(self._spawner, (lock,))
        return self._registry.make_for(model, settings.executors, runner, self._environ)
