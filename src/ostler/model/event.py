"""What happened: the events that the state is folded from (notices, which are only read, are in notice.py).

A Record is one event with its place in its task's history. The feed (`ostler events`) numbers records and
notices alike; names are those of contract.md and are added to, never changed.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.model.ids import TaskId
from ostler.model.plan import GateType, Plan, Publishing
from ostler.model.remote import Remote
from ostler.model.state import GateVerdict
from ostler.model.task import Task
from ostler.model.usage import Usage

Verdict = Literal["complete", "blocked", "continue", "review", "failed", "deferred", "paused", "interrupted"]
Verb = Literal["cancel", "pause", "resume", "skip", "rewind", "approve", "reject"]


class Body(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """An event or a notice; the tag is its public name."""


class Paying(Body, frozen=True, kw_only=True):
    """What attempts used and cost, the failed ones too, that no event before it has told."""

    usage: Usage = Usage()
    cost_usd: float | None = None


class TaskCreated(Body, frozen=True, tag="task_created"):
    task: Task
    plan: Plan
    rules: int  # which rules decide and evolve follow for this task, for good
    session_seed: str  # what session ids are derived from


class TaskClaimed(Body, frozen=True, tag="task_claimed"):
    run: str  # the run that took it


class TaskStarted(Body, frozen=True, tag="task_started"):
    """The workspace is ready. All three are null in a directory that is not git."""

    worktree: str | None = None
    branch: str | None = None
    base: str | None = None  # the commit that the branch starts from
    target: str | None = None  # the branch that the work is for; null: it starts from a bare commit
    remotes: tuple[Remote, ...] | None = None  # of the target, then the fork; null: an older Ostler's


class CallEnded(Paying, frozen=True, tag="call_ended"):
    phase: str
    iteration: int
    verdict: Verdict
    code: Code | None = None
    message: str = ""
    session_id: str = ""
    answer: str = ""  # path of the agent's final text, below the task's directory
    warnings: tuple[str, ...] = ()
    resumes_at: float | None = None


class CheckpointMade(Body, frozen=True, tag="checkpoint_made"):
    phase: str
    commit: str | None = None  # null: nothing to commit to
    tree: str = ""  # the beginning of the tree's name: the same for the same files
    output: str | None = None  # the document that was written, below the project's directory


class GateWaiting(Body, frozen=True, tag="gate_waiting"):
    """A person is to say yes or no."""

    phase: str
    sha: str | None = None
    reason: str = ""  # what they are asked


class GateDecided(Paying, frozen=True, tag="gate_decided"):
    phase: str
    gate: GateType
    verdict: GateVerdict
    reason: str = ""
    sha: str | None = None
    output: str = ""  # path of what the gate printed, below the task's directory
    signature: str = ""  # of a failure: the same for the same failure


class Published(Body, frozen=True, tag="published"):
    how: Publishing
    pr_url: str | None = None
    commit: str | None = None  # where the target stands now, after a merge
    base: str | None = None  # the commit that the branch starts from now
    note: str = ""  # what a person should know, such as that there is no remote


class Rebased(Body, frozen=True, tag="work_rebased"):
    """The work is another commit than the gates have seen, as its target moved; nothing is published yet."""

    commit: str
    base: str  # the commit that the branch starts from now
    clean: bool = True  # false: more was changed than where the work stands


class StepFailed(Body, frozen=True, tag="step_failed"):
    """A step other than a call could not be done; the task ends with its code."""

    code: Code
    message: str
    files: tuple[str, ...] = ()  # of a conflict
    onto: str = ""  # the commit of the target that the work does not fit


class TaskReleased(Paying, frozen=True, tag="task_released"):
    """The run was stopped in good order; the task is as it was and goes on next time."""

    message: str = ""


class TaskDeferred(Paying, frozen=True, tag="task_deferred"):
    code: Code
    message: str
    resumes_at: float


class TaskPaused(Paying, frozen=True, tag="task_paused"):
    code: Code | None = None
    message: str = ""


class TaskBlocked(Paying, frozen=True, tag="task_blocked"):
    code: Code
    message: str


class TaskCompleted(Paying, frozen=True, tag="task_completed"):
    commit: str | None = None


class TaskFailed(Paying, frozen=True, tag="task_failed"):
    code: Code
    message: str


class TaskCancelled(Paying, frozen=True, tag="task_cancelled"):
    message: str = ""


class WorkspaceReleased(Body, frozen=True, tag="workspace_released"):
    kept: bool = False  # true: the worktree stays for a person to look at


class TaskReopened(Body, frozen=True, tag="task_reopened"):
    """A task that had ended, or rests, begins again: where it did not pass, or at a phase that is named."""

    by: str = "retry"
    phase: str = ""
    text: str = ""
    budget_usd: float | None = None  # none: as before


class DecisionRecorded(Body, frozen=True, tag="decision_recorded"):
    """A person's word, from outside the run."""

    verb: Verb
    text: str = ""
    phase: str = ""  # of skip and rewind


Event = (
    TaskCreated
    | TaskClaimed
    | TaskStarted
    | CallEnded
    | CheckpointMade
    | GateWaiting
    | GateDecided
    | Published
    | Rebased
    | StepFailed
    | TaskReleased
    | TaskDeferred
    | TaskPaused
    | TaskBlocked
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
    | WorkspaceReleased
    | TaskReopened
    | DecisionRecorded
)


class Record(Struct, frozen=True):
    """One event in its task's history; task and seq together are its name."""

    task: TaskId
    seq: int  # 1, 2, 3, ... per task
    at: float  # seconds since the epoch
    event: Event | Raw  # Raw: written by a newer version; kept, and folded as nothing
    step: str = ""  # key of the step that it answers; empty for what came from outside
    basis: int = 0  # the seq that the step was decided from


class FeedLine(Struct, frozen=True):
    """One line of the feed: an event or a notice, numbered over the whole store."""

    position: int
    at: float
    task: TaskId
    body: Raw  # the event or notice as JSON, with its type
