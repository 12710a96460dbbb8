"""The executor package of loopwork (seed 000): CliExecutor with its parts injected.

`CliExecutor(config, process_manager, plugin_registry, logger)` is `ostler.CliExecutor` with the configuration
and the interfaces of loopwork. Times are in milliseconds where loopwork has milliseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any, Protocol, cast

import msgspec
from msgspec import Meta, Struct, ValidationError
from msgspec.structs import replace

from ostler.calls import cli_executor
from ostler.calls.hooks import Hook
from ostler.calls.models import retry as retries
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome
from ostler.compat.process_manager import IProcessManager, ISpawnedProcess, ManagedRunner, SpawnOptions
from ostler.config.settings import (
    ExecutorSettings,
    ModelSettings,
    PoolSettings,
    RetrySettings,
    RunSettings,
    SelectionSettings,
    Settings,
    Strategy,
)
from ostler.errors import Code, UsageError
from ostler.executors.registry import ExecutorRegistry
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

_Milliseconds = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(gt=0)]


class ModelEntry(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One model: the CLI that calls it and its name there."""

    name: Annotated[str, Meta(min_length=1)]
    cli: str = "claude"
    model: str = ""
    timeout: _Seconds | None = None  # seconds; None: that of the configuration
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cost_weight: Annotated[int, Meta(ge=1, le=100)] = 50
    enabled: bool = True


class RetryConfig(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Waits and repeats."""

    rate_limit_wait_ms: _Milliseconds = 60_000
    exponential_backoff: bool = False  # after a rate limit: base_delay_ms, doubled each time
    base_delay_ms: _Milliseconds = 1000
    max_delay_ms: _Milliseconds = 60_000
    retry_same_model: bool = False
    max_retries_per_model: Annotated[int, Meta(ge=0)] = 1


class CliExecutorConfig(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The configuration of a CliExecutor; without models, claude with its default model."""

    models: tuple[ModelEntry, ...] = ()
    fallback_models: tuple[ModelEntry, ...] = ()
    cli_paths: dict[str, str] = {}
    retry: RetryConfig = RetryConfig()
    selection_strategy: Strategy = "round-robin"
    timeout: _Seconds = 600.0  # of one attempt, in seconds
    sigkill_delay_ms: _Milliseconds = 5000
    prefer_pty: bool = False
    worker_pools: dict[str, PoolSettings] = {}

    def to_settings(self) -> Settings:
        """Return the settings of Ostler."""
        retry = self.retry
        wait = retry.base_delay_ms if retry.exponential_backoff else retry.rate_limit_wait_ms
        return Settings(
            run=RunSettings(timeout_seconds=self.timeout, grace_seconds=self.sigkill_delay_ms / 1000),
            executors={name: ExecutorSettings(command=path) for name, path in self.cli_paths.items()},
            models=(
                *(_to_model(one, fallback=False) for one in self.models),
                *(_to_model(one, fallback=True) for one in self.fallback_models),
            ),
            selection=SelectionSettings(strategy=self.selection_strategy),
            retry=RetrySettings(
                max_retries=retry.max_retries_per_model if retry.retry_same_model else 0,
                base_delay_seconds=retry.base_delay_ms / 1000,
                max_delay_seconds=retry.max_delay_ms / 1000,
                rate_limit_wait_seconds=wait / 1000,
                jitter=0.0,
            ),
            pools=self.worker_pools,
        )


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
        checked = config if isinstance(config, Settings) else _check_config(config)
        settings = checked if isinstance(checked, Settings) else checked.to_settings()
        runner = _adapt_processes(process_manager, getattr(checked, "prefer_pty", False))
        if isinstance(runner, ManagedRunner):
            # A process manager starts the program itself, so there is no sandbox around it.
            settings = replace(settings, sandbox=replace(settings.sandbox, tier="supervised"))
        super().__init__(
            settings,
            runner,
            cast("PluginRegistry | None", plugin_registry),
            _adapt_logger(logger),
            **more,
        )

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


def _check_config(config: CliExecutorConfig | Mapping[str, object] | None) -> CliExecutorConfig:
    """Return the configuration; raises UsageError for an invalid value, an unknown CLI and a duplicate."""
    checked: CliExecutorConfig = _convert(config or {}, CliExecutorConfig, "CliExecutorConfig")
    entries, registry = (*checked.models, *checked.fallback_models), ExecutorRegistry()
    for unknown in (one.cli for one in entries if not registry.has(one.cli)):
        raise UsageError(f"unknown executor: {unknown}", f"available: {', '.join(registry.list())}")
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"CliExecutorConfig: two models are named {twice[0]}", "give each its own name")
    return checked


def _convert(value: object, kind: type[Any], name: str) -> Any:
    """Return the value as this type, with every field checked."""
    try:
        return msgspec.convert(msgspec.to_builtins(value), kind)
    except (ValidationError, TypeError) as error:
        raise UsageError(f"{name}: {error}", "correct this value", Code.CONFIG_INVALID) from None


def _to_model(entry: ModelEntry, *, fallback: bool) -> ModelSettings:
    return ModelSettings(
        name=entry.name,
        executor=entry.cli,
        model=entry.model,
        cost_weight=entry.cost_weight,
        timeout_seconds=entry.timeout,
        enabled=entry.enabled,
        fallback=fallback,
        args=entry.args,
        env=entry.env,
    )


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
        self._methods.get(record.levelno, self._debug)(record.getMessage())
