"""Where a task stands: the fold of its records, small enough to be kept with each of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.plan import Phase, Plan
from ostler.model.status import TaskStatus
from ostler.model.task import Priority, Weight
from ostler.model.usage import Usage

PhaseStatus = Literal["pending", "running", "completed", "failed"]


class Stage(StrEnum):
    """What the task is ready for."""

    NEW = "new"  # a workspace
    READY = "ready"  # a call
    ANSWERED = "answered"  # a checkpoint
    DONE = "done"  # its completed end
    ENDED = "ended"  # the release of its workspace
    CLOSED = "closed"  # nothing


class Ending(Struct, frozen=True):
    """An end that the last call asks for; it becomes true when it is recorded."""

    status: TaskStatus
    code: Code | None = None
    message: str = ""
    resumes_at: float | None = None


class PhaseState(Struct, frozen=True):
    id: str
    status: PhaseStatus = "pending"
    iterations: int = 0  # calls that ended
    commit: str | None = None


class State(Struct, frozen=True):
    task: TaskId
    seq: int
    rules: int
    title: str
    weight: Weight
    priority: Priority
    created_at: float
    updated_at: float
    plan: Plan
    phases: tuple[PhaseState, ...]
    session_seed: str
    status: TaskStatus = TaskStatus.PENDING
    stage: Stage = Stage.NEW
    round: int = 1  # one more each time that it is reopened
    claims: int = 0  # one more each time that a run takes it
    phase: int = 0  # index of the phase that it is in
    call: int = 1  # one more each time that an iteration has to be called again
    session_id: str = ""  # as the agent last reported it, within this phase
    worktree: str | None = None
    branch: str | None = None
    base: str | None = None
    commit: str | None = None
    answer: str = ""  # path of the last final text
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    resumes_at: float | None = None
    failures: int = 0
    cancel: bool = False  # a person wants it cancelled
    ending: Ending | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None

    @property
    def current(self) -> Phase:
        return self.plan.phases[self.phase]

    @property
    def iteration(self) -> int:
        """The iteration that is due or under way, from 1."""
        return self.phases[self.phase].iterations + 1
