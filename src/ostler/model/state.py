"""Where a task stands: the fold of its records, small enough to be kept with each of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.plan import Phase, Plan
from ostler.model.remote import Remote
from ostler.model.status import TaskStatus
from ostler.model.task import Part, Priority, Weight
from ostler.model.usage import Usage

PhaseStatus = Literal["pending", "running", "completed", "failed", "skipped"]
GateVerdict = Literal["pass", "fail", "could_not_run", "pending", "skipped"]


class Stage(StrEnum):
    """What the task is ready for."""

    NEW = "new"  # a workspace
    READY = "ready"  # a call
    TURNED = "turned"  # a checkpoint between two iterations
    ANSWERED = "answered"  # a checkpoint at the end of its phase
    CHECKING = "checking"  # the gate of its phase
    MERGING = "merging"  # the gate before it is published
    PUBLISHING = "publishing"
    DONE = "done"  # its completed end
    ENDED = "ended"  # the release of its workspace
    CLOSED = "closed"  # nothing


class Ending(Struct, frozen=True):
    """An end that the last call asks for; it becomes true when it is recorded."""

    status: TaskStatus
    code: Code | None = None
    message: str = ""
    resumes_at: float | None = None


class GateState(Struct, frozen=True, omit_defaults=True):
    """What was said of a phase's result, and of which commit."""

    verdict: GateVerdict
    reason: str = ""
    sha: str | None = None
    person: bool = False  # a person said it
    tree: str = ""  # the files that it was asked about; empty: not known


class PhaseState(Struct, frozen=True, omit_defaults=True):
    id: str
    status: PhaseStatus = "pending"
    iterations: int = 0  # calls that ended
    granted: int = 0  # iterations that a person added
    retries: int = 0  # times that its gate sent the work back
    commit: str | None = None
    gate: GateState | None = None


class State(Struct, frozen=True, omit_defaults=True):
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
    target: str | None = None  # the branch that the work is for
    commit: str | None = None
    tree: str = ""  # of that commit; empty: not known
    answer: str = ""  # path of the last final text
    output: str | None = None  # where the document is, once it is written
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    resumes_at: float | None = None
    failures: int = 0
    cancel: bool = False  # a person wants it cancelled
    cancelled_for: str = ""  # why, where it was no person
    pause: bool = False  # a person wants it to rest
    word: int = 0  # seq of the record with what a person or a gate says to the next call; 0: nothing
    checks: int = 0  # one more each time that a gate has been asked
    signatures: tuple[str, ...] = ()  # of the last failures, to see that nothing changes
    retry_of: str = ""  # the phase whose failure the work went back for
    asks_review: bool = False  # the agent wants a person to look at its work
    merge: GateState | None = None  # what was said before publishing
    reset_to: str | None = None  # where the branch has to stand before the work goes on, after a rewind
    again: tuple[str, ...] = ()  # phases whose gates have not seen the commit, as the target moved
    rebases: int = 0  # times in a row that publishing found the target moved
    onto: str | None = None  # the commit of the target that the work does not fit
    remotes: tuple[Remote, ...] | None = None  # as they were when the task began
    pr_url: str | None = None
    ending: Ending | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    after: tuple[TaskId, ...] = ()  # tasks that must be completed before a run takes it
    not_before: float | None = None
    after_any: bool = False  # what it comes after need only have ended, however
    pipeline: Part | None = None

    @property
    def current(self) -> Phase:
        return self.plan.phases[self.phase]

    @property
    def iteration(self) -> int:
        """The iteration that is due or under way, from 1."""
        return self.phases[self.phase].iterations + 1

    @property
    def max_iterations(self) -> int:
        return self.current.max_iterations + self.phases[self.phase].granted
