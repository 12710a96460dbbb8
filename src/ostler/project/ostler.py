"""The Ostler object: a project that can also run its tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ostler.clock import Clock, SystemClock
from ostler.engine.carry import Carrier
from ostler.engine.local import LocalDriver, Wanted
from ostler.engine.steps.tools import Tools, as_written, lock_path
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.files.lock import try_lock
from ostler.model.choice import Choice
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.outcome import Outcome
from ostler.model.state import State
from ostler.model.task import Task
from ostler.process.forker import shared_forker
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner
from ostler.project.agents import require_sandbox
from ostler.project.documents import following
from ostler.project.outside import Outside, begin_telling
from ostler.project.pool import pool_for
from ostler.project.project import Project
from ostler.project.stable import make_stable
from ostler.project.write_back import tell_source
from ostler.store.sqlite import SqliteJournal
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.store.writer import GroupWriter
from ostler.worker.debugger import Debugger, EventDebugger, Stopping, as_debugger
from ostler.worker.host import get_available_memory_mb
from ostler.worker.slots import PoolStats
from ostler.worker.stable import Stable


class Ostler:
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
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.project = project
        self._environ = environ
        self._debugger = None if debugger is None else Stopping(as_debugger(debugger), self.stop)
        self._writer = GroupWriter(project.layout.database)
        self._spawner = create_spawner(prefer_pty=False)
        self._registry = executors or ExecutorRegistry()
        self._amend = amend or as_written
        self._clock = clock or SystemClock()
        self._ledger = SqliteLedger(project.layout.database)
        self._stable: Stable | None = None
        self._driver: LocalDriver | None = None
        self._outside: Outside | None = None
        self._tell = tell or _keep_quiet
        self.name = f"{os.uname().nodename}:{os.getpid()}:{os.urandom(4).hex()}"  # by which it claims

    @classmethod
    def open(cls, path: str | Path = ".") -> Self:
        return cls(Project.open(Path(path), os.environ, create=True), os.environ)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        self.project.journal.close()

    async def close(self) -> None:
        """Write out what is waiting and let go of everything."""
        await self._writer.close()
        if self._outside is not None:
            await self._outside.finish()
        self._ledger.close()
        if self._stable is not None:
            await self._stable.plugins.close()

    async def add(self, task: Task) -> Task:
        return await asyncio.to_thread(self.project.add, task)

    async def run(self, task: TaskId) -> Outcome:
        """Run one task to its end or rest."""
        return (await self.run_all([task]))[0]

    async def run_all(
        self,
        tasks: list[TaskId] | None = None,
        jobs: int | None = None,
        *,
        wait: bool = False,
        fail_fast: bool = False,
        leave_busy: bool = False,
    ) -> list[Outcome]:
        """Run these tasks, or all that can be taken, side by side.

        `wait` for those that a limit holds; `fail_fast` begins none after one has failed; `leave_busy` to
        another run what it holds, instead of waiting for that.
        """
        shared_forker().prepare_keeper()  # it comes up while git makes the first worktree
        asyncio.get_running_loop().run_in_executor(None, get_available_memory_mb)  # and psutil is loaded
        if self.project.settings.plugins.load:
            self._shared()  # one that cannot be loaded is told before any task is begun
        self.tell_others()
        tools = self._tools()
        at_once = jobs or self.project.settings.run.jobs
        self._driver = LocalDriver(tools, at_once, patient=wait, fail_fast=fail_fast, leave_busy=leave_busy)
        outcomes = await self._driver.run(Wanted(tuple(tasks or ())))
        return outcomes + self._standing(set(tasks or ()) - {outcome.task_id for outcome in outcomes})

    def tell_others(self) -> None:
        """Begin to tell whom [[notify]] and [telemetry] name, until it is closed; again does nothing."""
        if self._outside is None:
            self._outside = begin_telling(self.project, self._environ, self._clock, self._tell)

    def stop(self) -> None:
        """Bring what runs to a resumable rest; `run` then returns."""
        if self._driver is not None:
            self._driver.stop()

    def cancel(self, task: TaskId, reason: str = "") -> None:
        """End a task that this run may have in hand; raises UsageError for one that has ended."""
        self.project.cancel(task, reason)
        if self._driver is not None:
            self._driver.look()

    async def settle(self, task: TaskId) -> None:
        """Carry out what was decided about a task that no run has in hand; starts no agent."""
        tools = self._tools()
        held = try_lock(lock_path(self.project.state(task), tools))
        try:
            if held is not None and self.project.state(task).cancel:
                await Carrier(task, held, tools).carry()
        finally:
            await self._writer.close()

    async def flush(self) -> None:
        """Wait until everything said so far is in the journal."""
        await self._writer.flush()

    def pools(self) -> dict[str, PoolStats]:
        """How full each pool is; nothing before the first call."""
        return self._stable.slots.stats() if self._stable else {}

    def _standing(self, others: set[TaskId]) -> list[Outcome]:
        views = [self.project.show(task) for task in sorted(others)]
        return [Outcome(TaskId(v.id), v.status, v.code, v.message, v.warnings) for v in views]

    def _tools(self) -> Tools:
        return Tools(
            settings=self.project.settings,
            layout=self.project.layout,
            repository=self.project.repository(),
            journal=self.project.journal,
            writer=self._writer,
            clock=self._clock,
            environ=self._environ,
            make_executor=self._executor,
            pool_for=partial(pool_for, loaded=self.project.loaded),
            stable=self._shared,
            completed=self._completed,
            run=self.name,
            amend=self._amend,
        )

    def _completed(self, task: Task, state: State) -> tuple[Notice, ...]:
        """In a thread, so with a journal of its own; all of it has no second effect when done again."""
        if task.next:
            load, journal = lambda: self.project.loaded, SqliteJournal(self.project.layout.database)
            with Project(self.project.layout, load, journal) as project:
                project.add(following(task, state))
        return tell_source(task, state, self.project.layout)

    def _shared(self) -> Stable:
        if self._stable is None:
            self._stable = make_stable(self.project, self._ledger, self._clock, self._debugger)
        return self._stable

    def _executor(self, choice: Choice, lock: int) -> Executor:
        require_sandbox(self.project.settings, choice.executor)
        runner = DefaultCommandRunner(self._spawner, (lock,))
        return self._registry.make_for(choice, self.project.settings.executors, runner)


def _keep_quiet(sentence: str) -> None:
    """Nobody is there to be told."""
