"""Calls outside any project, for whoever brings the parts: settings, a runner, plugins and a logger."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from logging import Logger
from pathlib import Path
from random import Random

from msgspec.structs import replace

from ostler.clock import Clock, SystemClock
from ostler.config.settings import Settings
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.attempt import Attempt
from ostler.model.choice import Choice, ModelPool
from ostler.model.ids import TaskId
from ostler.model.task import Priority
from ostler.process.protocol import CommandRunner
from ostler.store.sqlite import SqliteJournal
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.worker.attempts import Attempts
from ostler.worker.call import CallWorker
from ostler.worker.choices import choices_of
from ostler.worker.debugger import Debugger, EventDebugger, as_debugger
from ostler.worker.diary import MemoryDiary
from ostler.worker.healing import healer_for
from ostler.worker.hooks import PluginRegistry
from ostler.worker.host import Host
from ostler.worker.order import Order, Report
from ostler.worker.purse import Purse
from ostler.worker.selector import ModelSelector
from ostler.worker.session import Session
from ostler.worker.slots import WorkerPool
from ostler.worker.stable import Stable
from ostler.worker.standing import Standing


class CliExecutor:
    """Executes prompts on the models of the settings, any number at a time; nothing of it is global.

    The ledger of limits is in `home`, for all that share it; its own prompts and transcripts are in `papers`.
    """

    def __init__(
        self,
        settings: Settings,
        processes: CommandRunner,
        plugins: PluginRegistry,
        logger: Logger,
        *,
        home: Path,
        selector: ModelSelector | None = None,
        slots: WorkerPool | None = None,
        host: Host | None = None,
        clock: Clock | None = None,
        debugger: Debugger | EventDebugger | None = None,
        registry: ExecutorRegistry | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        clock = clock or SystemClock()
        SqliteJournal(home / "ledger.db", create=True).close()
        self.diary = MemoryDiary()
        self.selector = selector or ModelSelector(settings.selection.strategy, Random())  # noqa: S311
        self.papers = home / "calls" / self.diary.store_id
        self._settings, self._processes, self._logger = settings, processes, logger
        self._registry = registry or ExecutorRegistry()
        self._ledger = SqliteLedger(home / "ledger.db")
        slots = slots or WorkerPool(settings.pools, clock)
        stable = Stable(
            selector=self.selector,
            slots=slots,
            host=host or Host(settings.host, clock),
            standing=Standing(self._ledger, settings.retry, clock),
            purse=Purse(settings.budget, clock, lambda: self.diary),
            plugins=plugins,
            debugger=None if debugger is None else as_debugger(debugger),
            healer=healer_for(settings.retry, slots),
        )
        environ = os.environ if environ is None else environ
        attempts = Attempts(settings, environ, self.diary, clock, "library", str(home))
        self._worker = CallWorker(settings, self._make, attempts, stable, clock)

    async def execute(
        self,
        prompt: str,
        *,
        cwd: str = ".",
        task_id: str = "call",
        feature: str = "",
        priority: Priority = "P2",
        timeout_seconds: float | None = None,
    ) -> Report:
        """Carry one prompt to success or a reasoned give-up; cancelling it stops the agent."""

        def prompt_for(_knows_task: bool, how: str) -> str:
            return (
                f"{prompt}\n\nAn earlier attempt at this ended before it was done: {how}" if how else prompt
            )

        async def fresh_prompt_for(_executor: str, how: str, _attempts: list[Attempt]) -> str:
            return prompt_for(False, how)

        order = Order(
            task=TaskId(task_id),
            key=f"{task_id}/{len(self.diary.attempts)}",
            phase="call",
            iteration=1,
            role="",
            pool=_pool(self._settings, timeout_seconds),
            cwd=cwd,
            papers=self.papers,
            attempts=[],
            session_for=_new_session,
            prompt_for=prompt_for,
            fresh_prompt_for=fresh_prompt_for,
            feature=feature,
            priority=priority,
        )
        report = await self._worker.carry(order)
        self._logger.info("%s: %s", task_id, report.result.code or "succeeded")
        return report

    def switch_to_fallback(self) -> None:
        """Begin with the fallback models from now on."""
        self.selector.switch_to_fallback()

    def reset_fallback(self) -> None:
        """Begin with the primary models again."""
        self.selector.reset_to_primary()

    def close(self) -> None:
        self._ledger.close()

    def _make(self, choice: Choice) -> Executor:
        return self._registry.make_for(choice, self._settings.executors, self._processes)


def _pool(settings: Settings, timeout_seconds: float | None) -> ModelPool:
    run = settings.run
    models = choices_of(settings) or (Choice(run.model or run.executor, run.executor, run.model),)
    if timeout_seconds is not None:
        models = tuple(replace(model, timeout_seconds=timeout_seconds) for model in models)
    return ModelPool(models)


def _new_session(executor: str, resumes: bool, attempts: list[Attempt]) -> Session:
    return Session(str(uuid.uuid4()), begun=False)
