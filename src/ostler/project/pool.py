"""The models that may work on a task: those of the settings, as far as the task and the flags leave them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.config.literal import quote
from ostler.config.load import Loaded
from ostler.config.nearest import nearest
from ostler.config.reading import Mistake
from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import SettingsInvalid
from ostler.executors.registry import ALIASES, ExecutorRegistry
from ostler.model.choice import Choice, ModelPool
from ostler.model.task import Task
from ostler.project.agents import executor_for
from ostler.worker.choices import choices_of, of_tier


def pool_for(task: Task, loaded: Loaded) -> ModelPool:
    """The [[models]] that the task, the flags and its role allow, or the one model that they name."""
    settings = loaded.settings
    if task.is_document and not (task.executor or _flag("run.executor", settings.run.executor, loaded)):
        task = replace(task, executor=settings.documents.executor)
    found = _allowed(task, loaded) or [_alone(task, loaded)]
    if task.timeout_seconds is not None:
        found = [replace(one, timeout_seconds=task.timeout_seconds) for one in found]
    return ModelPool(tuple(found))


def _allowed(task: Task, loaded: Loaded) -> list[Choice]:
    """Those of the [[models]] that may be used."""
    settings = loaded.settings
    model = task.model or task.tier or _flag("run.model", settings.run.model, loaded)
    executor = task.executor or _flag("run.executor", settings.run.executor, loaded)
    if not model:
        executor = executor or settings.agents.get(task.role, "")
    found = [row for row in choices_of(settings) if not executor or _same(row.executor, executor)]
    return _named(model, found, settings.tiers) if model else found


def check_models(loaded: Loaded) -> None:
    """Raise SettingsInvalid with a line for each of the [[models]] whose executor nobody knows."""
    if not loaded.settings.models:
        return
    known = {*ExecutorRegistry().list(), *ALIASES}
    problems = {
        f"models[{index}].executor": _problem(row.executor, loaded.settings, known)
        for index, row in enumerate(loaded.settings.models)
    }
    mistakes = [Mistake(loaded.sources[key], key, why).line for key, why in problems.items() if why]
    if mistakes:
        raise SettingsInvalid(mistakes)


def _flag(key: str, value: str, loaded: Loaded) -> str:
    """The setting if it was asked for on the command line; a standing default gives way to [[models]]."""
    return value if loaded.sources[key].layer == "flag" else ""


def _named(model: str, rows: list[Choice], tiers: Mapping[str, str]) -> list[Choice]:
    """The row of that name, else every row with that model: accounts of one model are rows of their own."""
    by_name = [row for row in rows if row.name == model]
    return by_name or [row for row in rows if row.model == of_tier(model, tiers)]


def _alone(task: Task, loaded: Loaded) -> Choice:
    settings = loaded.settings
    executor = executor_for(task, loaded)
    usual = "" if task.is_document else settings.run.model
    model = of_tier(task.model or task.tier or usual, settings.tiers)
    return Choice(model or executor, executor, model)


def _same(one: str, other: str) -> bool:
    return ALIASES.get(one, one) == ALIASES.get(other, other)


def _problem(name: str, settings: Settings, known: set[str]) -> str:
    kind = settings.executors.get(name, ExecutorSettings()).type or name
    if kind in known:
        return ""
    near = nearest(kind, sorted({*settings.executors, *known} - {kind}))
    return f"unknown executor {quote(kind)}; " + (f"did you mean {near}?" if near else "see ostler executors")
