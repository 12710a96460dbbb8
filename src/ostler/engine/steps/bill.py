"""The bill: what attempts used and cost of which no event has told yet."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from ostler.model.attempt import Attempt
from ostler.model.event import Event, Paying
from ostler.model.state import State
from ostler.model.usage import Usage
from ostler.store.journal import Journal

_NO_MONEY = 1e-9  # dollars; what sums of fractions differ by

_E = TypeVar("_E", bound=Event)


def billed(event: _E, state: State, journal: Journal) -> _E:
    """The event with all that is to be paid; also for a run that died and had no time to tell."""
    if not isinstance(event, Paying):
        return event
    usage, cost = _unpaid(journal.attempts(state.task), state)
    return replace(event, usage=usage, cost_usd=cost)


def _unpaid(attempts: list[Attempt], state: State) -> tuple[Usage, float | None]:
    usage = sum((one.usage for one in attempts), Usage())
    costs = [one.cost_usd for one in attempts if one.cost_usd is not None]
    cost = sum(costs) - (state.cost_usd or 0.0)
    spent = usage.since(state.usage) if usage.total >= state.usage.total else Usage()
    return spent, cost if cost > _NO_MONEY else None
