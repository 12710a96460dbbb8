"""The steps that the core may want; a step's key is its identity and never comes back."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.ids import TaskId
from ostler.model.plan import Gate, Publishing
from ostler.model.state import Ending


class PrepareWorkspace(Struct, frozen=True):
    """Make the place where the agent works, or make sure that it is still there."""

    task: TaskId
    key: str


class CallAgent(Struct, frozen=True):
    """Let an agent work on one iteration of a phase."""

    task: TaskId
    key: str
    phase: str
    iteration: int


class Checkpoint(Struct, frozen=True):
    """Commit what a phase left in the workspace."""

    task: TaskId
    key: str
    phase: str
    completes: bool  # the phase ends with it


class CheckGate(Struct, frozen=True):
    """Find out whether a phase's result is good enough, on the commit that holds it."""

    task: TaskId
    key: str
    phase: str  # "merge": the whole, before it is published
    gate: Gate
    sha: str | None


class Publish(Struct, frozen=True):
    """Bring the branch to where it is wanted."""

    task: TaskId
    key: str
    how: Publishing
    judged: str | None = None  # the only commit that may leave; null: no gate would be asked about another


class Finish(Struct, frozen=True):
    """Write down how the task ends, or that it rests."""

    task: TaskId
    key: str
    ending: Ending


class ReleaseWorkspace(Struct, frozen=True):
    """Give the workspace back."""

    task: TaskId
    key: str


MERGE = "merge"
Step = PrepareWorkspace | CallAgent | Checkpoint | CheckGate | Publish | Finish | ReleaseWorkspace
