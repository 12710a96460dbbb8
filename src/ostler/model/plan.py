"""The plan of a task: its phases, their iterations and their gates."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from typing import Literal

from msgspec import Struct

from ostler.model.task import Weight

Session = Literal["fresh", "kept"]
GateType = Literal["auto", "command", "ai", "human", "skip"]
Publishing = Literal["none", "pr", "merge"]
PublishAs = Literal["none", "pr", "merge", "rebase"]
"""How completed work is published, as set or requested by a person; a rebase publishes nothing."""


MAX_ITERATIONS: dict[Weight, int] = {"trivial": 5, "small": 10, "medium": 20, "large": 30, "greenfield": 50}
PHASES: dict[Weight, tuple[str, ...]] = {
    "trivial": ("implement",),
    "small": ("implement", "test"),
    "medium": ("implement", "test"),
    "large": ("spec", "implement", "test", "validate"),
    "greenfield": ("research", "spec", "implement", "test", "validate"),
}
BUILT_IN_PHASES = frozenset({"research", "spec", "design", "implement", "test", "validate", "review", "docs"})
"""The phases that have a template of their own."""
DOCUMENT_PHASE = "write"  # the only phase of a document without a skill
MERGE = "merge"  # in the settings of gates: before publishing
RETRY_MAP = {
    "test": "implement",
    "test_unit": "implement",
    "test_e2e": "implement",
    "validate": "implement",
    "review": "implement",
}
"""The phase that repeats the work when a phase does not pass; other phases repeat themselves."""


class Strategy(Struct, frozen=True, omit_defaults=True):
    """How a phase iterates."""

    session: Session = "kept"  # fresh: a new session per iteration, with the last answer in its prompt
    checkpoint_each_iteration: bool = False


TRIVIAL = Strategy(session="fresh")
STANDARD = Strategy()
FULL = Strategy(checkpoint_each_iteration=True)


class Gate(Struct, frozen=True, omit_defaults=True):
    """The check of a phase's result."""

    type: GateType = "auto"
    criteria: tuple[str, ...] = ()
    command: str = ""
    skill: str = ""  # ai: skill of the reviewer; empty: the reviewer role
    escalate_to_person: bool = False  # a person decides when no retry is left

    @property
    def passes_automatically(self) -> bool:
        """Whether the gate passes without a check."""
        return self.type == "skip" or (self.type == "auto" and not self.criteria)


NO_GATE = Gate("skip")


class Phase(Struct, frozen=True, omit_defaults=True):
    """One phase of a task."""

    id: str
    max_iterations: int
    strategy: Strategy = STANDARD
    gate: Gate = Gate()
    checkpoint: bool = True  # false: committed together with a later phase
    depends_on: tuple[str, ...] = ()
    retry_to: str = ""  # phase to continue with when the gate rejects; empty: this one
    role: str = ""  # empty: the role of the task
    prompt: str = ""  # template text of the task; empty: the default template


class Plan(Struct, frozen=True, omit_defaults=True):
    phases: tuple[Phase, ...]
    merge_gate: Gate = NO_GATE  # gate before publishing
    publish: Publishing = "none"
    max_phase_retries: int = 2
    reapprove: bool = False  # ask a person again after a clean rebase
    max_steps: int = 0  # that the task may take before a person decides; 0: any number
    is_document: bool = False  # the result is a file in the project; there is no worktree

    def index(self, phase: str) -> int | None:
        """Return the index of a phase; None if the plan has no such phase."""
        return next((index for index, one in enumerate(self.phases) if one.id == phase), None)


def choose_strategy(weight: Weight) -> Strategy:
    match weight:
        case "trivial":
            return TRIVIAL
        case "small" | "medium":
            return STANDARD
        case "large" | "greenfield":
            return FULL


def build_plan(weight: Weight, phases: tuple[str, ...] = ()) -> Plan:
    """Return a plan with the named phases, or those of the weight, without gates."""
    strategy, limit = choose_strategy(weight), MAX_ITERATIONS[weight]
    names = phases or PHASES[weight]
    return Plan(tuple(Phase(name, limit, strategy, retry_to=RETRY_MAP.get(name, "")) for name in names))
