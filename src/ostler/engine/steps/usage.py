"""Usage and cost of attempts that no event has recorded yet."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from ostler.model.attempt import Attempt
from ostler.model.event import Event, UsageEvent
from ostler.model.state import State
from ostler.model.usage import Usage
from ostler.store.journal import Journal

_ROUNDING_USD = 1e-9  # rounding error of sums, in dollars

_E = TypeVar("_E", bound=Event)


def add_unrecorded_usage(event: _E, state: State, journal: Journal) -> _E:
    """Return the event with the usage that is not recorded yet, including that of killed runs."""
    if not isinstance(event, UsageEvent):
        return event
    usage, cost = _unrecorded_usage(journal.attempts(state.task), state)
    return replace(event, usage=usage, cost_usd=cost)


def _unrecorded_usage(attempts: list[Attempt], state: State) -> tuple[Usage, float | None]:
    usage = sum((one.usage for one in attempts), Usage())
    costs = [one.cost_usd for one in attempts if one.cost_usd is not None]
    cost = sum(costs) - (state.cost_usd or 0.0)
    spent = usage.since(state.usage) if usage.total >= state.usage.total else Usage()
    return spent, cost if cost > _ROUNDING_USD else None
