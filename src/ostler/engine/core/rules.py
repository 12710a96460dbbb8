"""The version of the rules that a task follows: those of decide and evolve."""

from __future__ import annotations

from ostler.errors import Code, StateError
from ostler.model.state import State

RULES = 6
"""Of new tasks, and of each task from its next claim on; incremented when decide or evolve changes."""


def is_newer(state: State) -> bool:
    """Return whether a newer version created or continued the task, so that this one cannot go on with it."""
    return state.rules > RULES


def require_known_rules(state: State) -> None:
    """Raise STATE_VERSION for a task of a newer version.

    This version would fold its records by other rules, and drop what it does not know from the state.
    """
    if is_newer(state):
        raise StateError(
            Code.STATE_VERSION,
            f"task {state.task} was created or continued by a newer Ostler",
            "upgrade Ostler on this machine",
        )
