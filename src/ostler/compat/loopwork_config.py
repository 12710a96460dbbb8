"""The configuration of a loopwork CliExecutor, in Python or as its JSON, and the settings that it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, to_builtins

from ostler.config.checks.validate import convert_settings
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
from ostler.errors import UsageError
from ostler.executors.registry import ExecutorRegistry

_Milliseconds = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(gt=0)]

# Keys of loopwork's JSON that none of its agents received, or that only its screen used.
_UNUSED_OF_MODELS = (
    "displayName", "temperature", "maxTokens", "topP", "topK", "stopSequences", "capability",
    "extendedCapability", "primaryRole", "secondaryRoles", "optimizedFor", "maxComplexity",
)  # fmt: skip
_UNUSED = ("progressIntervalMs", "namespace")


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
    backoff_multiplier: Literal[2] = 2
    # The base of the exponential delays, where it is set; newer versions of loopwork use it so.
    delay_between_model_attempts_ms: _Milliseconds | None = None


class Flags(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The flags of a run that the executor reads."""

    force_fallback: bool = False  # start with the fallback models


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
    worker_pools: dict[str, PoolSettings] = {}  # `memoryLimitMB` is accepted for `memory_mb`
    flags: Flags = Flags()

    def to_settings(self) -> Settings:
        """Return the settings of Ostler."""
        retry = self.retry
        base = retry.delay_between_model_attempts_ms
        base = retry.base_delay_ms if base is None else base
        wait = base if retry.exponential_backoff else retry.rate_limit_wait_ms
        return Settings(
            run=RunSettings(timeout_seconds=self.timeout, grace_seconds=self.sigkill_delay_ms / 1000),
            executors={name: ExecutorSettings(command=path) for name, path in self.cli_paths.items()},
            models=(
                *(_to_model(one, fallback=False) for one in self.models),
                *(_to_model(one, fallback=True) for one in self.fallback_models),
            ),
            selection=SelectionSettings(
                strategy=self.selection_strategy, force_fallback=self.flags.force_fallback
            ),
            retry=RetrySettings(
                max_retries=retry.max_retries_per_model if retry.retry_same_model else 0,
                base_delay_seconds=base / 1000,
                max_delay_seconds=retry.max_delay_ms / 1000,
                rate_limit_wait_seconds=wait / 1000,
                jitter=0.0,
            ),
            pools=self.worker_pools,
        )


def read_config(
    config: CliExecutorConfig | Mapping[str, object] | None,
) -> tuple[CliExecutorConfig, list[str]]:
    """Return the configuration, and the keys that have no effect.

    Raises UsageError for an invalid value, an unknown CLI and a duplicate.
    """
    raw: object = {} if config is None else config
    unused: list[str] = []
    if isinstance(raw, Mapping):
        raw, unused = _translate(cast("Mapping[str, object]", raw))
    checked = convert_settings(CliExecutorConfig, raw, "CliExecutorConfig")
    entries, registry = (*checked.models, *checked.fallback_models), ExecutorRegistry()
    for unknown in (
        one for one in (*(one.cli for one in entries), *checked.cli_paths) if not registry.has(one)
    ):
        raise UsageError(f"unknown executor: {unknown}", f"available: {', '.join(registry.list())}")
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"CliExecutorConfig: two models are named {twice[0]}", "give each its own name")
    return checked, unused


def _translate(config: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Return the JSON without the keys that have no effect, and with our name of the memory limit."""
    found = dict(config)
    unused = [key for key in _UNUSED if found.pop(key, None) is not None]
    for key in ("models", "fallbackModels"):
        if isinstance(rows := found.get(key), list | tuple):
            pairs = [
                _split_model(row, f"{key}[{index}]") for index, row in enumerate(cast("list[Any]", rows))
            ]
            found[key] = [row for row, _ in pairs]
            unused += [name for _, names in pairs for name in names]
    if isinstance(pools := found.get("workerPools"), Mapping):
        found["workerPools"] = {
            name: _rename(pool) for name, pool in cast("Mapping[str, Any]", pools).items()
        }
    return found, unused


def _split_model(row: object, place: str) -> tuple[object, list[str]]:
    if not isinstance(row, Mapping):
        return to_builtins(row), []
    entry = dict(cast("Mapping[str, object]", row))
    return entry, [f"{place}.{key}" for key in _UNUSED_OF_MODELS if entry.pop(key, None) is not None]


def _rename(pool: object) -> object:
    if not isinstance(pool, Mapping):
        return pool
    values = cast("Mapping[str, object]", pool)
    return {"memory_mb" if key == "memoryLimitMB" else key: value for key, value in values.items()}


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
