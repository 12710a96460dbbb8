"""Events of the journal, from which the state is folded (notices, which are not, are in notice.py).

A Record is one event with its sequence number. The feed (`ostler events`) numbers records and notices
together. Event types are part of the public contract.
"""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.model.events.body import Body
from ostler.model.events.disposal import TaskArchived, TaskPurged, TaskRemoved, TaskUnarchived
from ostler.model.ids import TaskId
from ostler.model.plan import GateType, Plan, PublishAs
from ostler.model.policy.protection import Protection
from ostler.model.policy.remote import Remote
from ostler.model.policy.sandbox import SandboxRecord
from ostler.model.predecessor import Predecessor
from ostler.model.state import GateCheck, GateObstacle, GateVerdict
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.model.warning import LeftFiles, WarningDetail

Verdict = Literal[
    "complete", "blocked", "continue", "review", "failed", "deferred", "held", "paused", "interrupted"
]
ActionName = Literal[
    "cancel", "pause", "resume", "message", "skip", "rewind", "approve", "reject", "kill", "undo"
]


TREE_PREFIX = 16
"""Characters of a tree's hash in the journal; they are only compared for equality."""


class UsageEvent(Body, frozen=True, kw_only=True):
    """Base of events with the usage and cost of attempts that no earlier event has included."""

    usage: Usage = Usage()
    cost_usd: float | None = None


class TaskCreated(Body, frozen=True, tag="task_created"):
    task: Task
    plan: Plan
    rules: int  # version of the decide and evolve rules for this task
    session_seed: str  # session ids are derived from it
    protection: Protection | None = None  # protecting settings of this moment; null: those of the plan
    held: bool = False  # an agent proposed it: it starts when a person approves it


class TaskClaimed(Body, frozen=True, tag="task_claimed"):
    run: str  # id of the run
    rules: int = 0  # rules from this record on; 0: unchanged
    protection: Protection | None = None  # set by the first claim, or when the rules change; null: unchanged
    host: str = ""  # that performs the steps; empty: there is only one


class TaskStarted(Body, frozen=True, tag="task_started"):
    """The workspace is ready. All fields are null in a directory that is not a git repository."""

    worktree: str | None = None  # its name; older versions recorded its path
    branch: str | None = None
    base: str | None = None  # start commit of the branch
    target: str | None = None  # branch to merge into; null: the work starts from a detached commit
    # Of the target, then the fork; null: written by an older version.
    remotes: tuple[Remote, ...] | None = None
    # Tasks whose work the base contains; null: as recorded before.
    predecessors: tuple[Predecessor, ...] | None = None
    # Set when the branch was rebased onto new work of its predecessors.
    commit: str | None = None
    tree: str = ""


class CallEnded(UsageEvent, frozen=True, tag="call_ended"):
    phase: str
    iteration: int
    verdict: Verdict
    code: Code | None = None
    message: str = ""
    session_id: str = ""
    answer: str = ""  # path of the final text, relative to the task's directory
    warnings: tuple[str, ...] = ()
    warning_details: tuple[WarningDetail, ...] = ()
    resumes_at: float | None = None
    files: str = ""  # hash of the workspace after a call that gave the answer of the one before it
    sandbox: SandboxRecord | None = None  # of its last attempt; null: none started, or an older version
    permissions: str = ""  # that the agent got


class CheckpointMade(Body, frozen=True, tag="checkpoint_made"):
    phase: str
    commit: str | None = None  # null: no git repository
    tree: str = ""  # start of the hash of the tree, or of the document: equal for equal files
    output: str | None = None  # path of the document, relative to the project
    unchanged: bool = False  # the files are those of the task's base
    left: LeftFiles | None = None  # files of the worktree that the commit does not contain
    warnings: tuple[str, ...] = ()  # about the document


class GateWaiting(Body, frozen=True, tag="gate_waiting"):
    """The gate waits for a person to approve or reject."""

    phase: str
    sha: str | None = None
    reason: str = ""  # the request to the person
    gate: GateType = "human"
    check: GateCheck | None = None  # command that passed before the person is asked
    guarded: tuple[str, ...] = ()  # changed files that no timeout approves
    checks: tuple[str, ...] = ()  # quality checks that have run
    warnings: tuple[str, ...] = ()


class GateDecided(UsageEvent, frozen=True, tag="gate_decided"):
    phase: str
    gate: GateType
    verdict: GateVerdict
    reason: str = ""
    sha: str | None = None
    output: str = ""  # path of the gate's output, relative to the task's directory
    signature: str = ""  # of a failure; equal failures have equal signatures
    check: GateCheck | None = None
    warnings: tuple[str, ...] = ()
    warning_details: tuple[WarningDetail, ...] = ()
    review: str = ""  # why a person has to decide in spite of the verdict; empty: the verdict counts
    by: str = ""  # person who decided
    original: GateVerdict | None = None  # verdict that a person overruled
    cause: GateObstacle | None = None  # why it could not run; null: unknown
    checks: tuple[str, ...] = ()  # quality checks that the verdict includes
    criteria: tuple[str, ...] | None = None  # that were used; null: those of the plan


class FinalChecked(Body, frozen=True, tag="final_checked"):
    """Every gate has checked the final commit; the settings of this moment decide what follows."""

    merge: GateType = "skip"  # gate before publishing that is still to be checked; skip: none
    publish: PublishAs = "none"
    sha: str | None = None


class SettingsAccepted(Body, frozen=True, tag="settings_accepted"):
    """A person accepted the protecting settings for this task, looser values included."""

    protection: Protection
    by: str = ""
    differences: tuple[str, ...] = ()  # in words


class Published(Body, frozen=True, tag="published"):
    how: PublishAs
    pr_url: str | None = None
    commit: str | None = None  # the target's commit after a merge
    base: str | None = None  # new start commit of the branch
    note: str = ""  # for the user, such as that there is no remote
    into: str = ""  # branch that has the work, or the base of its pull request


class Rebased(Body, frozen=True, tag="work_rebased"):
    """The target moved and the work was rebased; the gates have to check the new commit."""

    commit: str
    base: str  # new start commit of the branch
    clean: bool = True  # false: the rebase changed more than the base


class StepFailed(Body, frozen=True, tag="step_failed"):
    """A step other than a call failed; the task ends with its code."""

    code: Code
    message: str
    files: tuple[str, ...] = ()  # with conflicts
    conflict_commit: str = ""  # commit of the target that conflicts with the work


class TaskReleased(UsageEvent, frozen=True, tag="task_released"):
    """The run was stopped; the next run resumes the task."""

    message: str = ""


class TaskDeferred(UsageEvent, frozen=True, tag="task_deferred"):
    code: Code
    message: str
    resumes_at: float


class TaskHeld(UsageEvent, frozen=True, tag="task_held"):
    """The provider refuses every call until a person logs in or pays; the task is pending until then."""

    code: Code
    message: str


class TaskPaused(UsageEvent, frozen=True, tag="task_paused"):
    code: Code | None = None
    message: str = ""


class TaskBlocked(UsageEvent, frozen=True, tag="task_blocked"):
    code: Code
    message: str


class TaskCompleted(UsageEvent, frozen=True, tag="task_completed"):
    commit: str | None = None
    message: str = ""  # why a request to publish completed work failed; the work stays completed


class TaskFailed(UsageEvent, frozen=True, tag="task_failed"):
    code: Code
    message: str
    counts: bool = True  # false: a failure of the provider or the machine, which does not lead to quarantine


class TaskCancelled(UsageEvent, frozen=True, tag="task_cancelled"):
    message: str = ""


class WorkspaceReleased(Body, frozen=True, tag="workspace_released"):
    kept: bool = False  # true: the worktree is kept
    commit: str | None = None  # last commit of the branch; it is kept under refs/ostler/tasks
    left: LeftFiles | None = None  # files that no commit contains; null: not searched
    warning: str = ""  # why the worktree is kept, if that was not intended; it names the path


MERGE_REQUEST = "merge"
PUBLISH_REQUEST = "publish"
REBASE_REQUEST = "rebase"
RETARGET_REQUEST = "retarget"
"""`by` of a completed task that is reopened only to be merged, rebased, or published as a pull request."""
REVIEW_REQUEST = "review"
"""`by` of a completed task that a person sends back to its agent with a review."""


class TaskReopened(Body, frozen=True, tag="task_reopened"):
    """A task starts again at the named phase, or at the first phase that did not pass."""

    by: str = "retry"
    phase: str = ""
    text: str = ""
    budget_usd: float | None = None  # null: unchanged
    model: str = ""  # empty: unchanged
    executor: str = ""  # empty: unchanged
    review: int = 0  # number of the review with which the work is sent back; 0: none


class TaskEdited(Body, frozen=True, tag="task_edited"):
    """A person changed the task; the next call uses the new values."""

    task: Task
    plan: Plan | None = None  # a new one, before the first claim; null: unchanged
    by: str = "edit"  # edit, task.md, or the options of a run
    text: str = ""  # the changes, in words


class DecisionRecorded(Body, frozen=True, tag="decision_recorded"):
    """A person's decision on a task."""

    verb: ActionName
    text: str = ""
    phase: str = ""  # for skip and rewind
    by: str = ""  # person who decided; empty: written by an older version
    attempt: int = 0  # number of the attempt, for kill
    now: bool = False  # kill without a grace period
    review: int = 0  # number of the review that contains the decision; 0: none
    then: Literal["", "merge", "pr"] = ""  # how approved work is published; empty: as planned


class TaskRebuilt(Body, frozen=True, tag="task_rebuilt"):
    """The journal was rebuilt without later records of the task; its steps get new names from here on."""

    round: int = 0
    warnings: tuple[str, ...] = ()
    warning_details: tuple[WarningDetail, ...] = ()


Event = (
    TaskCreated
    | TaskClaimed
    | TaskStarted
    | CallEnded
    | CheckpointMade
    | GateWaiting
    | GateDecided
    | FinalChecked
    | Published
    | Rebased
    | StepFailed
    | TaskReleased
    | TaskDeferred
    | TaskHeld
    | TaskPaused
    | TaskBlocked
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
    | WorkspaceReleased
    | TaskReopened
    | TaskEdited
    | DecisionRecorded
    | SettingsAccepted
    | TaskRebuilt
    | TaskArchived
    | TaskUnarchived
    | TaskRemoved
    | TaskPurged
)


class Record(Struct, frozen=True):
    """One event of a task; task and seq identify it."""

    task: TaskId
    seq: int  # 1, 2, 3, ... per task
    at: float  # seconds since the epoch
    event: Event | Raw  # Raw: written by a newer version; ignored by the fold
    step: str = ""  # key of the step that produced it; empty: not from a step
    basis: int = 0  # seq of the state from which the step was decided


class FeedLine(Struct, frozen=True):
    """An event or notice in the feed, numbered across all tasks."""

    position: int
    at: float
    task: TaskId
    body: Raw  # JSON with its type


class FeedEvent(Struct, frozen=True):
    """The fields of all events and notices in one struct; fields that a type lacks are empty."""

    type: str = ""
    phase: str = ""
    iteration: int = 0
    number: int = 0
    executor: str = ""
    model: str = ""
    session_id: str = ""
    tool: str = ""
    detail: str = ""
    denied: bool = False
    status: str = ""
    verdict: str = ""
    gate: str = ""
    verb: str = ""
    by: str = ""
    to: str = ""
    code: str | None = None
    message: str = ""
    reason: str = ""
    text: str = ""
    note: str = ""
    how: str = ""
    base: str | None = None
    commit: str | None = None
    pr_url: str | None = None
    resumed: bool = False
    held: bool = False
    seconds: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    until: float | None = None
    resumes_at: float | None = None
    account: str = ""
    window: str = ""
    reported: bool = False
    kind: str = ""
    target: str = ""
    setting: str = ""

    @property
    def error_text(self) -> str:
        """The code and the message, as far as they are set."""
        return ": ".join(part for part in (self.code, self.message or self.reason) if part)


_decode = msgspec.json.Decoder(FeedEvent).decode


def decode_event(line: FeedLine) -> FeedEvent:
    """Decode a line; an unreadable one of a newer version has an empty type."""
    try:
        return _decode(line.body)
    except msgspec.ValidationError:
        return FeedEvent()
