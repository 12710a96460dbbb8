"""Runs calls outside a project, with injected settings, command runner, plugins and logger."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Mapping
from logging import Logger, NullHandler, getLogger
from pathlib import Path
from random import Random

from msgspec.structs import replace

from ostler.calls.attempts.attempt import AttemptRunner
from ostler.calls.attempts.journal import MemoryAttemptJournal
from ostler.calls.attempts.session import AgentSession
from ostler.calls.call import AgentCaller
from ostler.calls.call_input import check_call, check_parts, read_settings
from ostler.calls.debugger import Debugger, EventDebugger, adapt_debugger
from ostler.calls.decision_log import DecisionLog, describe_end
from ostler.calls.executions import Execution, Executions
from ostler.calls.host import Host
from ostler.calls.models.availability import ModelAvailability
from ostler.calls.models.selector import ModelSelector, configured_models
from ostler.calls.models.slots import WorkerPool
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome, CallRequest
from ostler.calls.self_healing import create_self_healing
from ostler.calls.services import CallServices
from ostler.calls.spending.budget import BudgetGuard
from ostler.clock import Clock, SystemClock
from ostler.config.settings import Settings
from ostler.executors.logins import identify_login
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry, resolve_name
from ostler.files.atomic import make_private_dir
from ostler.files.user_state import find_user_state
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId, adopt_task_id
from ostler.model.policy.model_config import Login, ModelConfig, ModelPool
from ostler.model.task import PriorityName, to_priority
from ostler.process.protocol import CommandRunner
from ostler.process.runner import DefaultCommandRunner
from ostler.store.accounts.file import FILE_NAME
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.open_store import create_store

getLogger("ostler").addHandler(NullHandler())  # a library prints nothing by itself


class CliExecutor:
    """Runs prompts on the models of the settings, any number at a time, without global state.

    The settings are those of ostler.toml, as Settings or as a mapping. The ledger of limits is in `home` and
    shared by all executors there; `calls_dir` holds the prompts and transcripts of this one.
    """

    def __init__(
        self,
        settings: Settings | Mapping[str, object] | None = None,
        processes: CommandRunner | None = None,
        plugins: PluginRegistry | None = None,
        logger: Logger | None = None,
        *,
        home: Path | str | None = None,
        selector: ModelSelector | None = None,
        slots: WorkerPool | None = None,
        host: Host | None = None,
        clock: Clock | None = None,
        debugger: Debugger | EventDebugger | None = None,
        registry: ExecutorRegistry | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        check_parts(processes=processes, plugins=plugins, logger=logger, clock=clock)
        clock, environ = clock or SystemClock(), os.environ if environ is None else environ
        settings, logger = read_settings(settings), logger or getLogger("ostler")
        debugger = None if debugger is None else adapt_debugger(debugger)
        plugins = PluginRegistry(logger) if plugins is None else plugins
        home = Path(home) if home else find_user_state(environ) or _find_temporary()
        make_private_dir(home)
        self.journal = MemoryAttemptJournal()
        self.selector = selector or ModelSelector(settings.selection.strategy, Random())  # noqa: S311
        self.calls_dir = home / "calls" / self.journal.store_id
        self._settings, self._logger, self._environ = settings, logger, environ
        self._processes = DefaultCommandRunner() if processes is None else processes
        self._registry = registry or ExecutorRegistry()
        self._ledger = create_store(home / "ledger.db").open_ledger()
        self._accounts = SqliteAccounts(home / FILE_NAME)
        self.slots = slots or WorkerPool(settings.pools, clock)
        services = CallServices(
            selector=self.selector,
            slots=self.slots,
            host=host or Host(settings.host, clock),
            availability=ModelAvailability(
                self._ledger,
                self._accounts,
                settings.retry,
                clock,
                has_circuits=False,
                read_settings=lambda: settings,
            ),
            budget_guard=BudgetGuard(settings.budget, clock, lambda: self.journal),
            plugins=plugins,
            debugger=debugger,
            self_healing=create_self_healing(settings.retry, self.slots),
            log=DecisionLog(logger),
        )
        runner = AttemptRunner(settings, environ, self.journal, clock, "library", str(home), services.running)
        self._caller = AgentCaller(settings, self._make_executor, runner, services, clock)
        self._executions = Executions(clock)

    async def execute(
        self,
        prompt: str,
        *,
        cwd: str | Path = ".",
        task_id: str = "call",
        feature: str = "",
        priority: PriorityName = "P2",
        timeout_seconds: float | None = None,
        execution_id: str = "",
    ) -> CallOutcome:
        """Run one prompt until it succeeds or no model is left; cancelling this stops the agent.

        Any number of executions can run at the same time. `execution_id` names this one for `kill`; without
        it, `executions` shows the id that it gets. Expected failures are in the outcome; raises UsageError
        for an invalid argument, such as a `task_id` that is a path.
        """
        check_call(
            prompt,
            cwd,
            priority,
            timeout_seconds,
            task_id=task_id,
            feature=feature,
            execution_id=execution_id,
        )
        adopt_task_id(task_id)  # an id is never a path, here as in a project
        execution_id = execution_id or self._executions.make_id(task_id)

        def build_prompt(_continues_session: bool, failure: str) -> str:
            if not failure:
                return prompt
            return f"{prompt}\n\nAn earlier attempt at this ended before it was done: {failure}"

        async def build_fresh_prompt(_executor: str, failure: str, _attempts: list[Attempt]) -> str:
            return build_prompt(False, failure)

        request = CallRequest(
            task=TaskId(task_id),
            key=execution_id,
            phase="call",
            iteration=1,
            role="",
            pool=self._create_pool(timeout_seconds),
            cwd=str(cwd),
            task_dir=self.calls_dir,
            attempts=[],
            select_session=_create_session,
            build_prompt=build_prompt,
            build_fresh_prompt=build_fresh_prompt,
            feature=feature,
            priority=to_priority(priority),
            keeps_answer=False,
        )
        outcome = await self._executions.run(execution_id, task_id, self._caller.run(request))
        self._logger.info("%s: %s", task_id, describe_end(outcome.result))
        return outcome

    def executions(self) -> list[Execution]:
        """Return the executions that run now, the oldest first."""
        return self._executions.list()

    def kill(self, execution_id: str, *, now: bool = False) -> bool:
        """End one execution: SIGTERM, run.grace_seconds, SIGKILL; with `now` SIGKILL at once.

        Its `execute` returns with the code ABORTED and no retry; the others go on. Returns False if no
        execution with this id runs.
        """
        return self._executions.kill(execution_id, now=now)

    def switch_to_fallback(self) -> None:
        """Start with the fallback models from now on."""
        self.selector.switch_to_fallback()

    def reset_fallback(self) -> None:
        """Start with the primary models again."""
        self.selector.reset_to_primary()

    def close(self) -> None:
        """Close the ledgers; call it when no call runs any more."""
        self._ledger.close()
        self._accounts.close()

    def _create_pool(self, timeout_seconds: float | None) -> ModelPool:
        settings, run = self._settings, self._settings.run
        executor = resolve_name(run.executor, settings.executors)
        models = configured_models(settings) or (ModelConfig(run.model or executor, executor, run.model),)
        models = tuple(replace(model, login=self._identify(model)) for model in models)
        if timeout_seconds is not None:
            models = tuple(replace(model, timeout_seconds=timeout_seconds) for model in models)
        return ModelPool(models)

    def _identify(self, model: ModelConfig) -> Login:
        executor, home = self._make_executor(model), str(self.calls_dir)
        return identify_login(model, executor, self._settings.executors, self._environ, home)

    def _make_executor(self, model: ModelConfig) -> Executor:
        return self._registry.make_for(model, self._settings.executors, self._processes, self._environ)


def _find_temporary() -> Path:
    return Path(tempfile.gettempdir(), f"ostler-{os.getuid()}")


def _create_session(executor: str, can_resume: bool, attempts: list[Attempt]) -> AgentSession:
    return AgentSession(str(uuid.uuid4()), started=False)
