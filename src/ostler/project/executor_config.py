"""What the seed's executor can be told, once and for a single task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ostler.llm.client import DEFAULT_MODEL_MAP
from ostler.model.task import Task
from ostler.project.execution import ExecutionErrorCode

EXECUTOR = "model_api"
RETRYABLE = (
    ExecutionErrorCode.API_ERROR,
    ExecutionErrorCode.API_RATE_LIMITED,
    ExecutionErrorCode.API_OVERLOADED,
    ExecutionErrorCode.API_TIMEOUT,
)


class ExecutorConfig(Struct, frozen=True):
    """The defaults of all executions; whatever is not here is as the project's settings say."""

    project_root: str | Path = "."
    # A tier that is not in it is a model's own name.
    model_map: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_MODEL_MAP))
    default_model_tier: str = "sonnet"
    default_timeout_ms: int = 120_000  # of one attempt
    default_max_tokens: int = 4096
    max_retries: int = 2
    retry_delay_ms: int = 1000  # before the first repeat; then twice as long each time
    retryable_errors: tuple[ExecutionErrorCode, ...] = RETRYABLE  # of those that a repeat can mend at all


class AgentConfig(Struct, frozen=True):
    """What one execution wants otherwise."""

    model_tier: str | None = None
    timeout_ms: int | None = None
    max_retries: int | None = None


def create_default_config(**overrides: Any) -> ExecutorConfig:
    """The defaults, but for what is named."""
    return ExecutorConfig(**overrides)


def settings_of(config: ExecutorConfig) -> dict[str, object]:
    """The same as settings, over the project's own; no worktree is made and no program started."""
    seconds = config.retry_delay_ms / 1000
    return {
        "git.worktree": False,
        "host.min_free_memory_mb": 0,
        "host.start_stagger_seconds": 0.0,
        "models": [],  # the client is all that there is
        "retry.max_retries": config.max_retries,
        "retry.base_delay_seconds": seconds,
        "retry.rate_limit_wait_seconds": seconds,
        "retry.jitter": 0.0,
    }


def amend(task: Task, config: ExecutorConfig, wanted: AgentConfig) -> Task:
    """The task as this execution wants it: its own words stand above the config's, and below `wanted`."""
    tier = wanted.model_tier or task.model or task.tier or config.default_model_tier
    seconds = config.default_timeout_ms / 1000 if task.timeout_seconds is None else task.timeout_seconds
    retries = config.max_retries if task.max_retries is None else task.max_retries
    return replace(
        task,
        executor=EXECUTOR,
        model=config.model_map.get(tier, tier),
        timeout_seconds=seconds if wanted.timeout_ms is None else wanted.timeout_ms / 1000,
        max_retries=retries if wanted.max_retries is None else wanted.max_retries,
    )
