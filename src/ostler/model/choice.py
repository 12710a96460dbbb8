"""The models that a call may use, as the settings and the task leave them."""

from __future__ import annotations

from msgspec import Struct


class Choice(Struct, frozen=True):
    """One model of a pool: which agent program, which model, whose account."""

    name: str  # as a person calls it
    executor: str  # the registered name of the executor
    model: str = ""  # empty: the agent's own default
    account: str = ""  # whose limits it shares; empty: those of its executor
    cost_weight: int = 50
    timeout_seconds: float | None = None
    enabled: bool = True
    fallback: bool = False
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class ModelPool(Struct, frozen=True):
    """Every model that a call may use, in the order of the settings."""

    choices: tuple[Choice, ...]

    @property
    def primary(self) -> tuple[Choice, ...]:
        return tuple(one for one in self.choices if not one.fallback)

    @property
    def fallback(self) -> tuple[Choice, ...]:
        return tuple(one for one in self.choices if one.fallback)
