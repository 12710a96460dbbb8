"""The configuration of AgentExecutor, for all executions and for one."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ostler.config.settings import RetrySettings
from ostler.errors import UsageError
from ostler.llm.client import DEFAULT_MODEL_MAP
from ostler.model.task import Task
from ostler.project.running.execution import ExecutionErrorCode

EXECUTOR = "model_api"
_MAX_DELAY_SECONDS = RetrySettings().max_delay_seconds
RETRYABLE = (
    ExecutionErrorCode.API_ERROR,
    ExecutionErrorCode.API_RATE_LIMITED,
    ExecutionErrorCode.API_OVERLOADED,
    ExecutionErrorCode.API_TIMEOUT,
)


class ExecutorConfig(Struct, frozen=True):
    """Defaults of all executions; everything else is as in the project's settings."""

    project_root: str | Path = "."
    model_map: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_MODEL_MAP))
    default_model_tier: str = "sonnet"
    default_timeout_ms: int = 120_000  # of one attempt
    default_max_tokens: int = 4096
    max_retries: int = 2
    retry_delay_ms: int = 1000  # before the first retry; doubles each time
    retryable_errors: tuple[ExecutionErrorCode, ...] = RETRYABLE  # only codes that can be retried at all


class AgentConfig(Struct, frozen=True):
    """Overrides for one execution."""

    model_tier: str | None = None
    timeout_ms: int | None = None
    max_retries: int | None = None


def create_default_config(**overrides: Any) -> ExecutorConfig:
    """Return the defaults with these overrides."""
    return ExecutorConfig(**overrides)


def check_config(config: ExecutorConfig, overrides: AgentConfig) -> None:
    """Raise UsageError for the first number that is out of its range, or no number."""
    numbers: dict[str, tuple[object, bool]] = {  # and whether 0 is allowed
        "default_timeout_ms": (config.default_timeout_ms, False),
        "default_max_tokens": (config.default_max_tokens, False),
        "max_retries": (config.max_retries, True),
        "retry_delay_ms": (config.retry_delay_ms, True),
        "AgentConfig.timeout_ms": (overrides.timeout_ms, False),
        "AgentConfig.max_retries": (overrides.max_retries, True),
    }
    for name, (value, allows_zero) in numbers.items():
        if value is None and name.startswith("AgentConfig."):
            continue
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
        if not 0 <= number < inf or (number == 0 and not allows_zero):
            raise UsageError(f"{name}: expected a number {'>=' if allows_zero else '>'} 0, got {value!r:.80}")


def to_settings(config: ExecutorConfig, overrides: AgentConfig) -> dict[str, object]:
    """Return the config as settings that override the project's; without worktrees and programs."""
    seconds = config.retry_delay_ms / 1000
    retries = config.max_retries if overrides.max_retries is None else overrides.max_retries
    return {
        "git.worktree": False,
        "host.min_free_memory_mb": 0,
        "host.start_stagger_seconds": 0.0,
        "models": [],  # only the client is used
        "tiers": dict(config.model_map),
        "retry.max_retries": config.max_retries,
        "retry.base_delay_seconds": seconds,
        # The marketing agents double it without a limit.
        "retry.max_delay_seconds": max(_MAX_DELAY_SECONDS, seconds * 2.0 ** min(max(retries - 1, 0), 32)),
        "retry.rate_limit_wait_seconds": seconds,
        "retry.jitter": 0.0,
    }


def apply_config(task: Task, config: ExecutorConfig, overrides: AgentConfig) -> Task:
    """Return the task with the config applied: overrides first, then the task's values, then the config."""
    tier = overrides.model_tier or ("" if task.model else task.tier or config.default_model_tier)
    seconds = config.default_timeout_ms / 1000 if task.timeout_seconds is None else task.timeout_seconds
    retries = config.max_retries if task.max_retries is None else task.max_retries
    return replace(
        task,
        executor=EXECUTOR,
        model=_find_model(tier, config) if tier else task.model,
        timeout_seconds=seconds if overrides.timeout_ms is None else overrides.timeout_ms / 1000,
        max_retries=retries if overrides.max_retries is None else overrides.max_retries,
    )


def _find_model(tier: str, config: ExecutorConfig) -> str:
    if tier not in config.model_map:
        raise UsageError(
            f"unknown model tier {tier!r:.80}",
            f"use one of {', '.join(config.model_map)}, or add it to model_map",
        )
    return config.model_map[tier]
