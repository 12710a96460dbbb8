"""Which session of the agent an attempt belongs to."""

from __future__ import annotations

import uuid

from msgspec import Struct

from ostler.model.attempt import Attempt
from ostler.model.state import State
from ostler.model.usage import Usage

_NAMES = uuid.UUID("6f73746c-6572-4000-8000-736573736e73")


class Session(Struct, frozen=True):
    """A session id, known and stored before the agent starts."""

    id: str
    begun: bool  # an attempt with this id has been started: continue it, do not begin it


def session_for(state: State, attempts: list[Attempt], executor: str, resumes: bool) -> Session:
    """The session of an executor's next attempt: the phase's own, or a fresh one per iteration."""
    kept = state.current.strategy.session == "kept"
    place = f"{state.round}.{state.current.id}" + ("" if kept else f".{state.iteration}.{state.call}")
    ours = str(uuid.uuid5(_NAMES, f"{state.session_seed}/{place}/{executor}"))
    started = [a for a in attempts if a.executor == executor and a.session_id and _belongs(a, state, kept)]
    if not started:
        return Session(ours, begun=False)
    return Session(started[-1].session_id, begun=resumes)


def held_by(state: State, attempts: list[Attempt]) -> str:
    """The model that the phase's session is with, by its name in the settings; empty: none yet."""
    kept = state.current.strategy.session == "kept"
    return next((a.choice for a in reversed(attempts) if a.session_id and _belongs(a, state, kept)), "")


def _belongs(attempt: Attempt, state: State, kept: bool) -> bool:
    prefix = f"{state.task}/{state.round}.{state.current.id}."
    if not kept:
        prefix += f"{state.iteration}.{state.call}/"
    return attempt.step.startswith(prefix)


def session_cost(attempts: list[Attempt], session_id: str) -> float:
    """What the session had cost when it was last heard of."""
    totals = [a.session_cost_usd for a in attempts if a.session_id == session_id and a.session_cost_usd]
    return max(totals, default=0.0)


def session_usage(attempts: list[Attempt], session_id: str) -> Usage:
    """The tokens of the session when it was last heard of."""
    totals = [a.session_usage for a in attempts if a.session_id == session_id and a.session_usage]
    return max(totals, key=lambda usage: usage.total, default=Usage())
