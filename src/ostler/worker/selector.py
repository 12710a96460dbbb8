"""Which model a call tries next: the primary models in the order of a strategy, then the fallback ones."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ostler.config.settings import Strategy
from ostler.model.choice import Choice, ModelPool

Skip = Callable[[Choice], str]
"""Why a model cannot be used now; empty: it can."""

DISABLED = "disabled"
ASKED_FOR_FALLBACK = "only the fallback models were asked for"
NOT_TRIED = "not tried"
_TRIED = "tried"


class ModelSelector:
    """Shared by all calls of a run, so that round-robin goes on where the last call left it."""

    def __init__(self, strategy: Strategy, chance: Random) -> None:
        self._strategy: Strategy = strategy
        self._chance = chance
        self._turns: dict[tuple[str, ...], int] = {}  # whose turn it is, for each side of each pool
        self._in_fallback = False

    def walk(self, pool: ModelPool, force_fallback: bool = False) -> Walk:
        """The way of one execution through the pool; no model is on it twice."""
        return Walk(self, pool, force_fallback or self._in_fallback)

    def get_next(self, pool: ModelPool) -> Choice | None:
        """The model that an execution which starts now tries first."""
        return self.walk(pool).next()

    def switch_to_fallback(self) -> None:
        """Let the executions that start from now on begin with the fallback models."""
        self._in_fallback = True

    def reset_to_primary(self) -> None:
        """Begin with the first primary model again."""
        self._in_fallback = False
        self._turns.clear()

    reset = reset_to_primary

    @staticmethod
    def get_total_model_count(pool: ModelPool) -> int:
        """How many models a walk may offer: primary and fallback, without those that are disabled."""
        return sum(one.enabled for one in pool.choices)

    def order(self, side: tuple[Choice, ...]) -> list[Choice]:
        """The primary or the fallback models as the strategy would try them now."""
        match self._strategy:
            case "round-robin":
                turn = self._turns.get(_names(side), 0)
                return [*side[turn:], *side[:turn]]
            case "priority":
                return list(side)
            case "cost-aware":
                return sorted(side, key=lambda one: one.cost_weight)
            case "random":
                return self._chance.sample(side, len(side))

    def took(self, side: tuple[Choice, ...], choice: Choice) -> None:
        """The turn passes to the model after this one, in whichever execution comes next."""
        names = _names(side)
        self._turns[names] = (names.index(choice.name) + 1) % len(names)


class Walk:
    """One execution's way through a pool, and what became of each model on it."""

    def __init__(self, selector: ModelSelector, pool: ModelPool, in_fallback: bool) -> None:
        self._selector = selector
        self._pool = pool
        self._latest = ""
        self._reasons = {one.name: DISABLED for one in pool.choices if not one.enabled}
        if in_fallback:
            self._leave_primary(ASKED_FOR_FALLBACK)

    def next(self, skip: Skip = lambda _: "") -> Choice | None:
        """The next model that can be used, None at the end; one that is passed over stays so."""
        for side in (self._pool.primary, self._pool.fallback):
            for choice in self._selector.order(side):
                if choice.name not in self._reasons and self._offers(choice, skip):
                    self._selector.took(side, choice)
                    self._latest = choice.name
                    return choice
        return None

    def to_fallback(self) -> None:
        """Pass over what is left of the primary models, if there are others: the latest one has no quota."""
        self._leave_primary(f"quota of {self._latest}")

    def note(self, choice: Choice, reason: str) -> None:
        """Write down why a model that was tried did not do."""
        self._reasons[choice.name] = reason

    @property
    def refused(self) -> dict[str, str]:
        """Every model of the pool by name, in the pool's order, with the reason why it did not do."""
        return {one.name: self._reasons.get(one.name, NOT_TRIED) for one in self._pool.choices}

    def _offers(self, choice: Choice, skip: Skip) -> bool:
        reason = skip(choice)
        self._reasons[choice.name] = reason or _TRIED
        return not reason

    def _leave_primary(self, reason: str) -> None:
        if any(one.enabled for one in self._pool.fallback):
            for one in self._pool.primary:
                self._reasons.setdefault(one.name, reason)


def _names(side: tuple[Choice, ...]) -> tuple[str, ...]:
    return tuple(one.name for one in side)
