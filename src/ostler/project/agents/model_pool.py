"""Selects the models for a task from the settings, the task and the flags."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.calls.models.selector import configured_models, resolve_tier
from ostler.config.load import Loaded
from ostler.executors.logins import identify_login
from ostler.executors.registry import ALIASES, resolve_type
from ostler.model.model_config import Login, ModelConfig, ModelPool
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import choose_executor
from ostler.project.project import Project


def find_models(project: Project, task: Task) -> ModelPool:
    """Return the models for a task, each with the login that its calls use."""
    setup = project.setup()
    executors, root = setup.settings.executors, str(setup.root)

    def identify(model: ModelConfig) -> Login:
        executor = setup.registry.make_for(model, executors, DefaultCommandRunner())
        return identify_login(model, executor, executors, setup.environ, root)

    pool = select_models(task, setup.loaded)
    known = (model for model in pool.models if setup.registry.has(resolve_type(model.executor, executors)))
    logins = {model.name: identify(model) for model in known}
    return ModelPool(tuple(replace(one, login=logins.get(one.name, Login())) for one in pool.models))


def select_models(task: Task, loaded: Loaded) -> ModelPool:
    """Return the [[models]] that the task, the flags and its role allow, or the one model that they name."""
    settings = loaded.settings
    if task.is_document and not (task.executor or _get_flag("run.executor", settings.run.executor, loaded)):
        task = replace(task, executor=settings.documents.executor)
    found = _filter_models(task, loaded) or [_create_default(task, loaded)]
    if task.timeout_seconds is not None:
        found = [replace(one, timeout_seconds=task.timeout_seconds) for one in found]
    return ModelPool(tuple(found))


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
    usual = "" if task.is_document else settings.run.model
    model = resolve_tier(task.model or task.tier or usual, settings.tiers)
    return ModelConfig(model or executor, executor, model)


def _is_same_executor(one: str, other: str) -> bool:
    return ALIASES.get(one, one) == ALIASES.get(other, other)
