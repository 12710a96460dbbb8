"""The executor package of loopwork (seed 000): CliExecutor with its parts injected.

`CliExecutor(config, process_manager, plugin_registry, logger)` is `ostler.CliExecutor` with the configuration
and the interfaces of loopwork. Times are in milliseconds where loopwork has milliseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol, cast

from msgspec.structs import replace

from ostler.calls import cli_executor
from ostler.calls.hooks import Hook
from ostler.calls.models import retry as retries
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome
from ostler.compat.loopwork_config import CliExecutorConfig, ModelEntry, RetryConfig, read_config
from ostler.compat.process_manager import IProcessManager, ISpawnedProcess, ManagedRunner, SpawnOptions
from ostler.config.settings import Settings
from ostler.errors import UsageError
from ostler.model.task import Task
from ostler.process.protocol import CommandRunner
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner

__all__ = [
    "CliExecutor",
    "CliExecutorConfig",
    "ILogger",
    "IPluginRegistry",
    "IProcessManager",
    "ISpawnedProcess",
    "ModelEntry",
    "RetryConfig",
    "SpawnOptions",
    "calculate_backoff_delay",
]


class IPluginRegistry(Protocol):
    """Receives the events of calls; a PluginRegistry is one."""

    def notify(self, hook: Hook) -> None:
        """Receive an event; must return at once."""
        ...

    def with_capabilities(self, prompt: str) -> str:
        """Return the prompt, followed by the section Plugin Capabilities if there are any."""
        ...


class ILogger(Protocol):
    """Receives one line for each decision; a `logging.Logger` is accepted too."""

    def debug(self, message: str) -> object: ...
    def info(self, message: str) -> object: ...
    def warn(self, message: str) -> object: ...
    def error(self, message: str) -> object: ...


class CliExecutor(cli_executor.CliExecutor):
    """Runs prompts on the models of the configuration; every part is injected, nothing is global."""

    def __init__(
        self,
        config: CliExecutorConfig | Mapping[str, object] | Settings | None = None,
        process_manager: IProcessManager | CommandRunner | None = None,
        plugin_registry: IPluginRegistry | None = None,
        logger: ILogger | logging.Logger | None = None,
        **more: Any,
    ) -> None:
        unused: list[str] = []
        if isinstance(config, Settings):
            settings, prefer_pty = config, False
        else:
            checked, unused = read_config(config)
            settings, prefer_pty = checked.to_settings(), checked.prefer_pty
        runner, log = _adapt_processes(process_manager, prefer_pty), _adapt_logger(logger)
        if isinstance(runner, ManagedRunner):
            # A process manager starts the program itself, so there is no sandbox around it.
            settings = replace(settings, sandbox=replace(settings.sandbox, tier="supervised"))
        super().__init__(
            settings,
            runner,
            cast("PluginRegistry | None", plugin_registry),
            log,
            **more,
        )
        for key in unused:
            self._logger.warning("CliExecutorConfig: %s has no effect", key)

    async def execute_task(self, task: Task, prompt: str = "", **more: Any) -> CallOutcome:
        """Run the prompt of a task, by default its title and text, in the pool of the task."""
        text = prompt or f"{task.title}\n\n{task.body}".strip()
        name = str(task.id) or "call"
        return await self.execute(text, task_id=name, feature=task.feature, priority=task.priority, **more)


def calculate_backoff_delay(attempt: int, base_delay_ms: int = 1000, max_delay_ms: int = 60_000) -> int:
    """Return min(base_delay_ms * 2**attempt, max_delay_ms); attempt is counted from 0."""
    if attempt < 0:
        raise UsageError(f"attempt: expected int >= 0, got {attempt}")
    return round(retries.calculate_backoff_delay(attempt, base_delay_ms, max_delay_ms))


def _adapt_processes(manager: object, prefer_pty: bool) -> CommandRunner:
    """Return a runner of Ostler for a process manager or a runner."""
    if manager is None:
        return DefaultCommandRunner(create_spawner(prefer_pty=prefer_pty))
    if callable(getattr(manager, "spawn", None)):
        return ManagedRunner(cast(IProcessManager, manager))
    if callable(getattr(manager, "run", None)):
        return cast(CommandRunner, manager)
    raise UsageError(f"process_manager: expected an object with a method spawn, got {manager!r}")


def _adapt_logger(logger: object) -> logging.Logger | None:
    if logger is None or isinstance(logger, logging.Logger):
        return logger
    methods = ("debug", "info", "warn", "error")
    if not all(callable(getattr(logger, name, None)) for name in methods):
        names = ", ".join(methods)
        raise UsageError(f"logger: expected a logging.Logger or an object with {names}, got {logger!r}")
    own = logging.Logger("ostler.compat")  # belongs to one executor, so it is not registered
    own.addHandler(_Forward(cast(ILogger, logger)))
    return own


class _Forward(logging.Handler):
    """Passes each line to a logger of loopwork."""

    def __init__(self, logger: ILogger) -> None:
        super().__init__()
        self._methods = {
            logging.INFO: logger.info,
            logging.WARNING: logger.warn,
            logging.ERROR: logger.error,
        }
        self._debug = logger.debug

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._methods.get(record.levelno, self._debug)(record.getMessage())
        except Exception:  # noqa: BLE001  (foreign code; handleError prints it, as for every handler)
            self.handleError(record)
