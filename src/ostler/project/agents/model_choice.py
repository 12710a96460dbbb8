"""Which models a task may use; loads no executor, because a status needs it too."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.calls.models.selector import configured_models, resolve_tier
from ostler.config.load import Loaded
from ostler.executors.registry import ALIASES, resolve_name, resolve_type
from ostler.model.policy.model_config import DEFAULT_TIER, ModelConfig, ModelPool
from ostler.model.task import REVIEWER, Task


def select_models(task: Task, loaded: Loaded) -> ModelPool:
    """Return the [[models]] that the task, the flags and its role allow, or the one model that they name."""
    settings = loaded.settings
    if task.is_document and not (task.executor or _get_flag("run.executor", settings.run.executor, loaded)):
        reviewer = settings.agents.get(REVIEWER, "") if task.role == REVIEWER else ""
        task = replace(task, executor=reviewer or settings.documents.executor)
    found = _filter_models(task, loaded) or [_create_default(task, loaded)]
    if task.timeout_seconds is not None:
        found = [replace(one, timeout_seconds=task.timeout_seconds) for one in found]
    return ModelPool(tuple(found))


def choose_executor(task: Task, loaded: Loaded) -> str:
    """Return the executor for a task: its own, the one of --executor, that of its role, or the default."""
    settings = loaded.settings
    run = settings.run.executor
    by_role = "" if loaded.sources["run.executor"].layer == "flag" else settings.agents.get(task.role, "")
    return resolve_name(task.executor or by_role or run, settings.executors)


def _filter_models(task: Task, loaded: Loaded) -> list[ModelConfig]:
    settings = loaded.settings
    model = task.model or task.tier or _get_flag("run.model", settings.run.model, loaded)
    executor = task.executor or _get_flag("run.executor", settings.run.executor, loaded)
    if not model:
        executor = executor or settings.agents.get(task.role, "")
    found = [
        row
        for row in configured_models(settings)
        if not executor or _is_same_executor(row.executor, executor)
    ]
    return _match_name(model, found, settings.tiers) if model else found


def _get_flag(key: str, value: str, loaded: Loaded) -> str:
    """Return the setting only if it is from the command line; a configured default does not override
    [[models]].
    """
    return value if loaded.sources[key].layer == "flag" else ""


def _match_name(model: str, rows: list[ModelConfig], tiers: Mapping[str, str]) -> list[ModelConfig]:
    """Return the row with this name, else all rows with this model: each account has its own row."""
    by_name = [row for row in rows if row.name == model]
    return by_name or [row for row in rows if row.model == resolve_tier(model, tiers)]


def _create_default(task: Task, loaded: Loaded) -> ModelConfig:
    settings = loaded.settings
    executor = choose_executor(task, loaded)
    usual = _find_document_model(executor, loaded) if task.is_document else settings.run.model
    model = resolve_tier(task.model or task.tier or usual, settings.tiers)
    return ModelConfig(model or executor, executor, model)


def _find_document_model(executor: str, loaded: Loaded) -> str:
    """Return the tier of [documents], else run.model if it is a tier or belongs to the same executor."""
    settings = loaded.settings
    if settings.documents.tier:
        return settings.documents.tier
    run = settings.run
    if run.model in settings.tiers or _is_same_executor(
        executor, resolve_name(run.executor, settings.executors)
    ):
        return run.model
    # The default tier of a model API; any other agent has a default model of its own.
    return DEFAULT_TIER if DEFAULT_TIER in settings.tiers and _calls_model_api(executor, loaded) else ""


def _calls_model_api(executor: str, loaded: Loaded) -> bool:
    return resolve_type(executor, loaded.settings.executors) == "model_api"


def _is_same_executor(one: str, other: str) -> bool:
    return ALIASES.get(one, one) == ALIASES.get(other, other)
