"""The state of a task: the fold of its records, stored with each of them."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.plan import GateType, Phase, Plan, PublishAs, Publishing
from ostler.model.policy.protection import Protection, protection_of_plan
from ostler.model.policy.remote import Remote
from ostler.model.policy.sandbox import SandboxRecord
from ostler.model.predecessor import Predecessor
from ostler.model.status import TaskStatus
from ostler.model.task import PipelineMember, Priority, Weight
from ostler.model.usage import Usage
from ostler.model.warning import LeftFiles, WarningDetail

PhaseStatus = Literal["pending", "running", "completed", "failed", "skipped"]
# overruled: a person approved what the gate did not pass; not_checked: there was nothing to check it with
GateVerdict = Literal["pass", "fail", "could_not_run", "pending", "skipped", "overruled", "not_checked"]
# Why a gate could not run; each has its own next step.
GateObstacle = Literal[
    "missing program", "isolation", "timeout", "network", "killed", "setup", "refused", "reviewer"
]
BY_TIMEOUT = "a timeout"
"""`by` of a decision that `gates.human_timeout_action` made; no user name contains a space."""


class Stage(StrEnum):
    """The next step of a task."""

    NEW = "new"  # prepare the workspace
    READY = "ready"  # call the agent
    ITERATED = "iterated"  # checkpoint between two iterations
    ANSWERED = "answered"  # checkpoint at the end of the phase
    CHECKING = "checking"  # check the gate of the phase
    FINAL = "final"  # check the gates that have not checked the final commit
    MERGING = "merging"  # check the gate before publishing
    PUBLISHING = "publishing"
    DONE = "done"  # record the completion
    ENDED = "ended"  # release the workspace
    CLOSED = "closed"  # none


class Ending(Struct, frozen=True):
    """The ending that the next step records."""

    status: TaskStatus
    code: Code | None = None
    message: str = ""
    resumes_at: float | None = None


class GateCheck(Struct, frozen=True, omit_defaults=True):
    """How a command gate was run: what the record, `show` and the pull request report about it."""

    command: str = ""
    # bind-over, unshare, env:KEY, guard, or none; empty: written by an older version
    isolation: str = ""
    links: tuple[str, ...] = ()  # links from the environment to the user's checkout, and what was done
    control: str = ""  # result of the positive control, such as "fails when broken"
    settings: str = ""  # version of the settings that were used
    weakened: tuple[str, ...] = ()  # a line for each check that the work weakened
    no_environment: str = ""  # why a weaker isolation than an environment of the lockfile was used
    sandbox: SandboxRecord | None = None  # None: written by an older version, or not run
    refused: tuple[str, ...] = ()  # a line for each access that the sandbox refused


class GateState(Struct, frozen=True, omit_defaults=True):
    """The verdict on a phase's result, and on which commit."""

    verdict: GateVerdict
    reason: str = ""
    sha: str | None = None
    by_person: bool = False  # decided by a person
    tree: str = ""  # tree that was checked; empty: unknown
    by: str = ""  # person who decided
    original: GateVerdict | None = None  # verdict that a person overruled or skipped
    check: GateCheck | None = None
    type: GateType | None = None  # gate that was used; null: that of the plan
    guarded: tuple[str, ...] = ()  # changed files that only a person approves
    cause: GateObstacle | None = None  # why it could not run; null: unknown
    checks: tuple[str, ...] = ()  # quality checks that the verdict includes
    criteria: tuple[str, ...] | None = None  # that were used; null: those of the plan

    @property
    def commit_verdict(self) -> GateVerdict:
        """The verdict about the commit: its command has passed before a person is asked."""
        is_asked = self.verdict == "pending" and (self.check is not None or bool(self.checks))
        return "pass" if is_asked else self.verdict

    @property
    def is_approved_by_person(self) -> bool:
        """Whether a person, and not a timeout, let the work pass."""
        return self.by_person and self.by != BY_TIMEOUT and self.verdict in ("pass", "overruled")


class NamedGate(Struct, frozen=True):
    """The verdict of a gate that is no phase of the task."""

    name: str
    gate: GateState


class PhaseState(Struct, frozen=True, omit_defaults=True):
    id: str
    status: PhaseStatus = "pending"
    iterations: int = 0  # calls that ended
    extra_iterations: int = 0  # added by a person or a retry
    retries: int = 0  # times that its gate rejected the work
    rejections: int = 0  # times that a person sent it back, which uses up no retry
    first_round: int = 0  # sessions of earlier rounds are not continued
    commit: str | None = None
    gate: GateState | None = None

    @property
    def returns(self) -> int:
        """How often the work was sent back."""
        return self.retries + self.rejections


class CompletedWork(Struct, frozen=True, omit_defaults=True):
    """The work and the verdicts of a completed task, before a person asked to publish it."""

    commit: str | None
    base: str | None
    tree: str
    phases: tuple[PhaseState, ...]
    gates: tuple[NamedGate, ...] = ()
    merge: GateState | None = None
    warnings: tuple[str, ...] = ()


class State(Struct, frozen=True, omit_defaults=True):
    """Everything that decide() needs to choose the next step."""

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
    round: int = 1  # incremented when the task is reopened or a phase is reset
    claims: int = 0  # incremented when a run claims the task
    host: str = ""  # of the last claim; empty: there is only one
    workspace_host: str = ""  # that has the workspace
    phase: int = 0  # index of the current phase
    call: int = 1  # incremented when an iteration is called again
    session_id: str = ""  # last reported by the agent in this phase
    worktree: str | None = None  # its name, or the path that an older version recorded
    branch: str | None = None
    base: str | None = None
    target: str | None = None  # branch to merge into
    commit: str | None = None
    tree: str = ""  # of that commit; empty: unknown
    tip: str | None = None  # last commit of the branch when the workspace was released
    unchanged: bool = False  # its files are those of the base
    # asked: the agent was asked for changes; explained: it reported why there are none
    no_changes: Literal["", "asked", "explained"] = ""
    answer: str = ""  # path of the last answer
    output: str | None = None  # path of the document, once written
    code: Code | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    warning_details: tuple[WarningDetail, ...] = ()
    left: LeftFiles | None = None  # files that no commit contains
    sandbox: SandboxRecord | None = None  # of the last attempt; None: none started, or an older version
    permissions: str = ""  # that the last agent got
    resumes_at: float | None = None
    failures: int = 0
    cancel_requested: bool = False  # a person cancelled the task
    cancel_reason: str = ""  # set if not cancelled by a person
    pause_requested: bool = False  # a person paused the task
    feedback_seq: int = 0  # seq of the record with feedback for the next call; 0: none
    delivered_seq: int = 0  # the same of the last call, if a call on another host has to repeat it
    checks: int = 0  # incremented when a gate was checked
    signatures: tuple[str, ...] = ()  # of the last failures, to detect that the task is stuck
    retry_of: str = ""  # phase whose failure caused the retry
    retry_to: str = ""  # phase that repeats the work for it; empty: none yet
    review_requested: bool = False  # the current gate is decided by a person
    merge: GateState | None = None  # verdict of the gate before publishing
    reset_to: str | None = None  # commit to reset the branch to, after a rewind
    recheck_phases: tuple[str, ...] = ()  # phases whose gates have to check the new commit
    rebases: int = 0  # rebases in a row while publishing
    conflict_commit: str | None = None  # commit of the target that conflicts with the work
    remotes: tuple[Remote, ...] | None = None  # as recorded when the task started
    pr_url: str | None = None
    publish_as: PublishAs | None = None  # requested by a person for completed work; None: as planned
    publish_next: Publishing | None = None  # requested with an approval, for when the work is completed
    completed: CompletedWork | None = None  # to return to if that request is cancelled
    published_into: str = ""  # branch that has the work, or the base of its pull request
    ending: Ending | None = None
    failed_step: str = ""  # key of the step that failed last
    step_failures: int = 0  # of that step
    steps: int = 0  # performed since a person last continued the task
    usage: Usage = Usage()
    cost_usd: float | None = None
    after: tuple[TaskId, ...] = ()  # tasks that must be completed first
    not_before: float | None = None
    queued_at: float | None = None  # its place among waiting tasks; none: the time of its creation
    after_any: bool = False  # those need only have ended, with any status
    order_only: bool = False  # `after` gives the order only; the work starts from the target
    start_commit: str = ""  # commit of the user's uncommitted changes to start from
    predecessors: tuple[Predecessor, ...] = ()  # tasks whose work the base contains
    pipeline: PipelineMember | None = None
    proposed_by: TaskId = TaskId("")  # the task whose agent created it
    held: bool = False  # a proposal that a person has not decided about
    protection: Protection | None = None  # accepted values; null: those of the plan
    gates: tuple[NamedGate, ...] = ()  # verdicts of gates that are no phase of this task
    final_gate: str = ""  # gate that was checked last in the final stage
    archived_at: float | None = None  # lists leave it out since then
    purged_at: float | None = None  # its files are deleted since then
    removed_at: float | None = None  # a person deleted it before its first run
    undoable: "State | None" = None  # before the last decision, until something else is recorded

    @property
    def baseline(self) -> Protection:
        """The protecting settings that a person accepted for this task."""
        return self.protection or protection_of_plan(self.plan)

    @property
    def has_no_files(self) -> bool:
        """Whether its files were deleted: it was removed or purged."""
        return self.purged_at is not None or self.removed_at is not None

    def is_about_last_commit(self, gate: GateState) -> bool:
        """Return whether a verdict is about the files of the last commit."""
        return gate.sha == self.commit or bool(gate.tree and gate.tree == self.tree)

    @property
    def current(self) -> Phase:
        return self.plan.phases[self.phase]

    @property
    def publishing(self) -> PublishAs:
        """How the work is published, as a person requested or accepted it."""
        return self.requested_publishing or self.baseline.publish

    @property
    def requested_publishing(self) -> PublishAs | None:
        """How a person requested to publish the work; None: as planned."""
        return self.publish_as or self.publish_next

    @property
    def iteration(self) -> int:
        """The number of the current iteration, from 1."""
        return self.phases[self.phase].iterations + 1

    @property
    def shown_iteration(self) -> int:
        """The current iteration, or the last one when no other follows."""
        now = self.phases[self.phase]
        over = now.status in ("completed", "skipped") or self.stage is Stage.CHECKING
        return max(1, min(self.iteration - over, self.max_iterations))

    @property
    def max_iterations(self) -> int:
        return self.current.max_iterations + self.phases[self.phase].extra_iterations
