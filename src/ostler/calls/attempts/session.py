"""Selects the agent's session that an attempt starts or continues."""

from __future__ import annotations

import uuid

from msgspec import Struct

from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.state import State
from ostler.model.usage import Usage

# Session ids are derived from this and from the seed below: changing either loses the sessions of open tasks.
_NAMESPACE = uuid.UUID("6f73746c-6572-4000-8000-736573736e73")
# Failures of a resumed session that a new session may not have. A provider's failure is not one of them.
_SESSION_FAILURES = frozenset(
    {
        Code.AGENT_FAILED,
        Code.AGENT_INCOMPATIBLE,
        Code.API_ERROR,
        Code.IDLE_TIMEOUT,
        Code.NO_RESULT,
        Code.PROMPT_TOO_LARGE,
        Code.RESPONSE_EMPTY,
        Code.RESUME_UNSUPPORTED,
        Code.SESSION_IN_USE,
        Code.SESSION_NOT_FOUND,
        Code.TIMEOUT,
    }
)


class AgentSession(Struct, frozen=True):
    """A session id, recorded before the agent starts."""

    id: str
    started: bool  # an attempt has used it: resume it, do not create it


def select_session(state: State, attempts: list[Attempt], executor: str, can_resume: bool) -> AgentSession:
    """Return the session of an executor's next attempt: one per phase, or a fresh one per iteration.

    A phase whose work was rejected continues its last session, so that the agent has what it did before.
    """
    kept = state.current.strategy.session == "kept"
    scope = f"{state.round}.{state.current.id}" + ("" if kept else f".{state.iteration}.{state.call}")
    new_id = str(uuid.uuid5(_NAMESPACE, f"{state.session_seed}/{scope}/{executor}"))
    used = [a for a in attempts if a.executor == executor and a.session_id and _is_in_scope(a, state)]
    if not used:
        return AgentSession(new_id, started=False)
    return AgentSession(used[-1].session_id, started=can_resume)


def model_of_session(state: State, attempts: list[Attempt]) -> str:
    """Return the name in the settings of the model that holds the phase's session; empty if there is none."""
    used = (a.model_name for a in reversed(attempts) if a.session_id and _is_in_scope(a, state))
    return next(used, "")


def _is_in_scope(attempt: Attempt, state: State) -> bool:
    """Return whether the phase can continue the session of an attempt."""
    if attempt.phase != state.current.id or not attempt.step.startswith(f"{state.task}/"):
        return False
    if state.current.strategy.session == "kept" or state.retry_of:
        return round_of(attempt) >= state.phases[state.phase].first_round
    key = f"{state.round}.{state.current.id}.{state.iteration}.{state.call}/"
    return attempt.step.startswith(f"{state.task}/{key}")


def round_of(attempt: Attempt) -> int:
    """Return the round in the key of the attempt's step, such as `fix-a1b2/2.implement.1.1/call`."""
    return int(attempt.step.split("/")[1].split(".")[0])


def is_session_failure(attempt: Attempt, earlier: list[Attempt], has_worked: bool) -> bool:
    """Return whether an attempt failed to resume its session: it failed before the model did anything.

    A session in which no earlier attempt came further is not lost: a new one would fail in the same way.
    """
    failed = attempt.resumed and not has_worked and attempt.code in _SESSION_FAILURES
    return failed and any(
        one.session_id == attempt.session_id and one.code not in _SESSION_FAILURES for one in earlier
    )


def replace_session(attempt: Attempt) -> AgentSession:
    """Return a new session instead of the one that the attempt could not resume."""
    return AgentSession(str(uuid.uuid5(_NAMESPACE, f"{attempt.session_id}/{attempt.number}")), started=False)


def with_own_id(session: AgentSession, login: str) -> AgentSession:
    """Return a new session of another login: the id may belong to the session of the first one."""
    return AgentSession(str(uuid.uuid5(_NAMESPACE, f"{session.id}/{login}")), started=False)


def find_session_cost(attempts: list[Attempt], session_id: str) -> float:
    """Return the last reported cost of the session."""
    totals = [a.session_cost_usd for a in attempts if a.session_id == session_id and a.session_cost_usd]
    return max(totals, default=0.0)


def find_session_usage(attempts: list[Attempt], session_id: str) -> Usage:
    """Return the last reported tokens of the session."""
    totals = [a.session_usage for a in attempts if a.session_id == session_id and a.session_usage]
    return max(totals, key=lambda usage: usage.total, default=Usage())
