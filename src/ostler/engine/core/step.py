"""The steps of a task; a step's key is unique and never repeated."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.ids import TaskId
from ostler.model.plan import Gate, PublishAs
from ostler.model.state import Ending


class PrepareWorkspace(Struct, frozen=True):
    """Create the workspace, or repair it."""

    task: TaskId
    key: str


class CallAgent(Struct, frozen=True):
    """Call an agent for one iteration of a phase."""

    task: TaskId
    key: str
    phase: str
    iteration: int


class Checkpoint(Struct, frozen=True):
    """Commit the changes in the workspace."""

    task: TaskId
    key: str
    phase: str
    completes: bool  # at the end of the phase


class CheckGate(Struct, frozen=True):
    """Check the result of a phase on its commit."""

    task: TaskId
    key: str
    phase: str  # "merge": the gate before publishing
    gate: Gate  # as accepted; the performer adds what the settings require now
    sha: str | None


class CheckFinal(Struct, frozen=True):
    """Check one gate that has not checked the final commit, or find that there is none."""

    task: TaskId
    key: str
    sha: str | None
    asked: str = ""  # gate that a person has to decide; empty: the performer chooses


class Publish(Struct, frozen=True):
    """Publish the branch."""

    task: TaskId
    key: str
    how: PublishAs  # as accepted; the settings may allow less now
    # The only commit that may be published; None: no gate would check another one.
    checked_commit: str | None = None


class Finish(Struct, frozen=True):
    """Record how the task ends, or why it waits."""

    task: TaskId
    key: str
    ending: Ending


class ReleaseWorkspace(Struct, frozen=True):
    """Release the workspace."""

    task: TaskId
    key: str


Step = (
    PrepareWorkspace | CallAgent | Checkpoint | CheckGate | CheckFinal | Publish | Finish | ReleaseWorkspace
)
