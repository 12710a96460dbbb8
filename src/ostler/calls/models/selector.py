"""Selects the next model of a call: primary models in the order of a strategy, then fallback models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol, get_args

from msgspec import convert
from msgspec.structs import replace

from ostler.config.settings import SelectionSettings, Settings, Strategy
from ostler.errors import UsageError
from ostler.executors.registry import resolve_name
from ostler.model.policy.model_config import ModelConfig, ModelPool

Skip = Callable[[ModelConfig], str]
"""Returns why a model cannot be used now; empty if it can."""

DISABLED = "disabled"
FALLBACK_ONLY = "only the fallback models were requested"
NOT_TRIED = "not tried"
_TRIED = "tried"


class Turns(Protocol):
    """Which model of a list round-robin uses next."""

    def next_turn(self, models: Sequence[str]) -> int: ...

    def take_turn(self, models: Sequence[str], after: str) -> None: ...

    def reset_turns(self) -> None: ...


class MemoryTurns:
    """The turns of one process."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, ...], int] = {}

    def next_turn(self, models: Sequence[str]) -> int:
        return self._next.get(tuple(models), 0)

    def take_turn(self, models: Sequence[str], after: str) -> None:
        self._next[tuple(models)] = (models.index(after) + 1) % len(models)

    def reset_turns(self) -> None:
        self._next.clear()


class ModelSelector:
    """Shared by all calls of a run; the ledger holds the turn of round-robin for all runs of a project."""

    def __init__(
        self, strategy: Strategy = "round-robin", rng: Random | None = None, turns: Turns | None = None
    ) -> None:
        if strategy not in get_args(Strategy):
            known = ", ".join(get_args(Strategy))
            raise UsageError(f"strategy: expected one of {known}, got {strategy!r}")
        self.strategy: Strategy = strategy  # of the calls that start from now on
        self._rng = rng or Random()  # noqa: S311
        self._turns = turns or MemoryTurns()  # for the primary or fallback models of each pool
        self._in_fallback = False

    def select_from(self, pool: ModelPool, force_fallback: bool = False) -> Selection:
        """Return the selection of one call from the pool; it returns no model twice."""
        return Selection(self, pool, force_fallback or self._in_fallback)

    def get_next(self, pool: ModelPool) -> ModelConfig | None:
        """Return the model that a call which starts now tries first."""
        return self.select_from(pool).next()

    def switch_to_fallback(self) -> None:
        """Let calls that start from now on begin with the fallback models."""
        self._in_fallback = True

    def reset_to_primary(self) -> None:
        """Begin with the first primary model again."""
        self._in_fallback = False
        self._turns.reset_turns()

    reset = reset_to_primary

    @staticmethod
    def get_total_model_count(pool: ModelPool) -> int:
        """Return the number of primary and fallback models that are not disabled."""
        return sum(model.enabled for model in pool.models)

    def sort(self, models: tuple[ModelConfig, ...]) -> list[ModelConfig]:
        """Return the primary or fallback models in the order of the strategy."""
        match self.strategy:
            case "round-robin":
                index = self._turns.next_turn(_names(models)) if len(models) > 1 else 0
                return [*models[index:], *models[:index]]
            case "priority":
                return list(models)
            case "cost-aware":
                return sorted(models, key=lambda model: model.cost_weight)
            case "random":
                return self._rng.sample(models, len(models))

    def advance(self, models: tuple[ModelConfig, ...], selected: ModelConfig) -> None:
        """Let round-robin continue with the model after the selected one."""
        if self.strategy == "round-robin" and len(models) > 1:
            self._turns.take_turn(_names(models), selected.name)


class Selection:
    """The models of a pool that one call tries, and why each of them did not complete the call."""

    def __init__(self, selector: ModelSelector, pool: ModelPool, in_fallback: bool) -> None:
        self._selector = selector
        self._pool = pool
        self._latest = ""
        self._reasons = {model.name: DISABLED for model in pool.models if not model.enabled}
        if in_fallback:
            self._skip_primary(FALLBACK_ONLY)

    def next(self, skip: Skip = lambda _: "") -> ModelConfig | None:
        """Return the next model that can be used, None at the end; a skipped model stays skipped."""
        for models in (self._pool.primary, self._pool.fallback):
            for model in self._selector.sort(models):
                if model.name not in self._reasons and self._can_use(model, skip):
                    self._selector.advance(models, model)
                    self._latest = model.name
                    return model
        return None

    def switch_to_fallback(self) -> None:
        """Skip the remaining primary models, if there are fallback models: the latest one has no quota."""
        self._skip_primary(f"quota of {self._latest}")

    def set_reason(self, model: ModelConfig, reason: str) -> None:
        """Record why a model did not complete the call."""
        self._reasons[model.name] = reason

    @property
    def reasons(self) -> dict[str, str]:
        """Why each model of the pool did not complete the call, by name, in the order of the pool."""
        return {model.name: self._reasons.get(model.name, NOT_TRIED) for model in self._pool.models}

    def _can_use(self, model: ModelConfig, skip: Skip) -> bool:
        reason = skip(model)
        self._reasons[model.name] = reason or _TRIED
        return not reason

    def _skip_primary(self, reason: str) -> None:
        if any(model.enabled for model in self._pool.fallback):
            for model in self._pool.primary:
                self._reasons.setdefault(model.name, reason)


def list_preceding(model: ModelConfig, pool: ModelPool, selection: SelectionSettings) -> list[ModelConfig]:
    """Return the models that are preferred to a model, whatever turn or chance selects for one call."""
    is_forced = selection.force_fallback and any(one.enabled for one in pool.fallback)
    parts = [pool.fallback] if is_forced else [pool.primary, pool.fallback]
    if selection.strategy == "cost-aware":
        parts = [tuple(sorted(part, key=lambda one: one.cost_weight)) for part in parts]
    order = [one for part in parts for one in part]
    return order[: order.index(model)] if model in order else []


def configured_models(settings: Settings) -> tuple[ModelConfig, ...]:
    """Return the [[models]] of the settings, in the order of the file."""
    models = (convert(model, ModelConfig, from_attributes=True) for model in settings.models)
    return tuple(
        replace(
            model,
            executor=resolve_name(model.executor, settings.executors),
            model=resolve_tier(model.model, settings.tiers),
        )
        for model in models
    )


def resolve_tier(model: str, tiers: Mapping[str, str]) -> str:
    """Return the model of a tier; any other name is a model already."""
    return tiers.get(model, model)


def _names(models: tuple[ModelConfig, ...]) -> tuple[str, ...]:
    return tuple(model.name for model in models)
