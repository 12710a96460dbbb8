"""The plan for a task: its phases, how each one loops, and what must be true before the next."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.model.task import Weight

Session = Literal["fresh", "kept"]
GateType = Literal["auto", "command", "ai", "human", "skip"]
Publishing = Literal["none", "pr", "merge"]

MAX_ITERATIONS: dict[Weight, int] = {"trivial": 5, "small": 10, "medium": 20, "large": 30, "greenfield": 50}
PHASES: dict[Weight, tuple[str, ...]] = {
    "trivial": ("implement",),
    "small": ("implement", "test"),
    "medium": ("implement", "test"),
    "large": ("spec", "implement", "test", "validate"),
    "greenfield": ("research", "spec", "implement", "test", "validate"),
}
RETRY_MAP = {
    "test": "implement",
    "test_unit": "implement",
    "test_e2e": "implement",
    "validate": "implement",
    "review": "implement",
}
"""Where the work goes back to when a phase does not pass; any other phase is done again itself."""


class Strategy(Struct, frozen=True, omit_defaults=True):
    """How a phase loops, as data."""

    session: Session = "kept"  # fresh: each iteration starts anew, with the last answer in its prompt
    checkpoint_each_iteration: bool = False


TRIVIAL = Strategy(session="fresh")
STANDARD = Strategy()
FULL = Strategy(checkpoint_each_iteration=True)


class Gate(Struct, frozen=True, omit_defaults=True):
    """What must be true of a phase's result."""

    type: GateType = "auto"
    criteria: tuple[str, ...] = ()
    command: str = ""
    skill: str = ""  # ai: what the reviewer knows; empty: the reviewer's role
    then_person: bool = False  # when nothing is left to try, a person decides instead of an end

    @property
    def passes_by_itself(self) -> bool:
        """Nothing is to be looked at."""
        return self.type == "skip" or (self.type == "auto" and not self.criteria)


OPEN = Gate("skip")


class Phase(Struct, frozen=True, omit_defaults=True):
    """One stage of a task."""

    id: str
    max_iterations: int
    strategy: Strategy = STANDARD
    gate: Gate = Gate()
    checkpoint: bool = True  # false: its work is committed with that of a later phase
    depends_on: tuple[str, ...] = ()
    retry_to: str = ""  # where the work goes back to when the gate says no; empty: to itself
    role: str = ""  # empty: the task's
    prompt: str = ""  # the template's text, where the task brings its own


class Plan(Struct, frozen=True, omit_defaults=True):
    phases: tuple[Phase, ...]
    merge_gate: Gate = OPEN  # before publishing
    publish: Publishing = "none"
    max_phase_retries: int = 2
    reapprove: bool = False  # a person is asked again about work that was merely rebased
    document: bool = False  # the result is a text, written into the project; there is no worktree

    def index(self, phase: str) -> int | None:
        """Where a phase stands; None when there is none of that name."""
        return next((place for place, one in enumerate(self.phases) if one.id == phase), None)


def strategy_for(weight: Weight) -> Strategy:
    match weight:
        case "trivial":
            return TRIVIAL
        case "small" | "medium":
            return STANDARD
        case "large" | "greenfield":
            return FULL


def plan_for(weight: Weight, phases: tuple[str, ...] = ()) -> Plan:
    """The phases of a weight, or those named, with nothing in their way."""
    strategy, limit = strategy_for(weight), MAX_ITERATIONS[weight]
    names = phases or PHASES[weight]
    return Plan(tuple(Phase(name, limit, strategy, retry_to=RETRY_MAP.get(name, "")) for name in names))
