"""Which model a run would try first for a task now; writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from random import Random

from msgspec import Struct

from ostler.calls.attempts.session import model_of_session
from ostler.calls.models.selector import ModelSelector
from ostler.clock import SystemClock
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.call_services import create_availability
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.store.ledger import Ledger


class FirstModel(Struct, frozen=True):
    """A model, and why those before it cannot be used now."""

    model: ModelConfig
    skipped: dict[str, str] = {}


class _ReadTurns:
    """The turns of the ledger; reading them takes none."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def next_turn(self, models: Sequence[str]) -> int:
        return self._ledger.next_turn(models)

    def take_turn(self, models: Sequence[str], after: str) -> None:
        """Leave the turn to the run."""

    def reset_turns(self) -> None:
        """Leave the turns to the run."""


def find_first_model(project: Project, task: Task, pool: ModelPool, environ: Mapping[str, str]) -> FirstModel:
    """Return the model that can be used now; when none can, the first of the pool."""
    selection, skipped = project.settings.selection, dict[str, str]()
    with (
        closing(project.store.open_ledger()) as ledger,
        closing(open_accounts(environ)) as accounts,
    ):
        availability = create_availability(project, ledger, accounts, SystemClock())

        def skip(model: ModelConfig) -> str:
            executor = partial(_make_executor, project, model)
            # The check of a cooldown that has ended would take the trial of a run.
            found = availability.check(model, executor, is_only_model=True)
            if found is None and pool.has_cooldowns:
                found = availability.find_cooldown(model)
            if found is not None:
                skipped[model.name] = str(found)
            return skipped.get(model.name, "")

        preferred = _find_preferred(project, task, pool)
        if preferred is not None and not skip(preferred):
            return FirstModel(preferred)
        selector = ModelSelector(selection.strategy, Random(0), _ReadTurns(ledger))  # noqa: S311
        found = selector.select_from(pool, selection.force_fallback).next(skip)
    return FirstModel(pool.models[0]) if found is None else FirstModel(found, skipped)


def _make_executor(project: Project, model: ModelConfig) -> Executor:
    return ExecutorRegistry().make_for(model, project.settings.executors, DefaultCommandRunner())


def _find_preferred(project: Project, task: Task, pool: ModelPool) -> ModelConfig | None:
    """Return the model that holds the session of the task's phase, if there is one."""
    if not task.id or not project.journal.find(task.id):
        return None
    name = model_of_session(project.state(task.id), project.journal.attempts(task.id))
    return next((model for model in pool.models if model.name == name), None)
