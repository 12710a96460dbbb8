"""The plan for a task: its phases, and how each one loops."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.model.task import Weight

Session = Literal["fresh", "kept"]

MAX_ITERATIONS: dict[Weight, int] = {"trivial": 5, "small": 10, "medium": 20, "large": 30, "greenfield": 50}


class Strategy(Struct, frozen=True):
    """How a phase loops, as data."""

    session: Session = "kept"  # fresh: each iteration starts anew, with the last answer in its prompt
    checkpoint_each_iteration: bool = False


TRIVIAL = Strategy(session="fresh")
STANDARD = Strategy()
FULL = Strategy(checkpoint_each_iteration=True)


class Phase(Struct, frozen=True):
    """One stage of a task."""

    id: str
    max_iterations: int
    strategy: Strategy = STANDARD


class Plan(Struct, frozen=True):
    phases: tuple[Phase, ...]


def strategy_for(weight: Weight) -> Strategy:
    match weight:
        case "trivial":
            return TRIVIAL
        case "small" | "medium":
            return STANDARD
        case "large" | "greenfield":
            return FULL


def plan_for(weight: Weight) -> Plan:
    """One phase for every weight; the plans by weight come with the phases issue."""
    return Plan((Phase("implement", MAX_ITERATIONS[weight], strategy_for(weight)),))
