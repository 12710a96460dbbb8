"""What is told of a task besides its events: in the feed, never folded."""

from __future__ import annotations

from ostler.errors import Code
from ostler.model.event import Body
from ostler.model.usage import Usage


class PhaseStarted(Body, frozen=True, tag="phase_started"):
    phase: str


class IterationStarted(Body, frozen=True, tag="iteration_started"):
    phase: str
    iteration: int


class AttemptStarted(Body, frozen=True, tag="attempt_started"):
    number: int
    phase: str
    iteration: int
    executor: str
    model: str = ""
    session_id: str = ""
    resumed: bool = False


class AttemptEnded(Body, frozen=True, tag="attempt_ended"):
    number: int
    status: str
    code: Code | None = None
    message: str = ""
    exit_code: int | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None


class ToolUsedNotice(Body, frozen=True, tag="tool_used"):
    tool: str
    detail: str = ""
    denied: bool = False


class UsageReported(Body, frozen=True, tag="usage_reported"):
    usage: Usage


class ParseError(Body, frozen=True, tag="parse_error"):
    detail: str


class SessionNoted(Body, frozen=True, tag="session_replaced"):
    session_id: str
    resumed: bool  # true: it existed and goes on; false: it was lost and begun again


class PhaseCompleted(Body, frozen=True, tag="phase_completed"):
    phase: str
    commit: str | None = None


class PhaseRetried(Body, frozen=True, tag="phase_retried"):
    """The work goes back: a phase did not pass."""

    phase: str
    to: str
    attempt: int
    context: str = ""  # path of what the next call is told, below the task's directory


class AgentReported(Body, frozen=True, tag="agent_reported"):
    """An agent's own word about its task (`ostler report`)."""

    attempt: int
    status: str
    reason: str = ""


class PhaseFailed(Body, frozen=True, tag="phase_failed"):
    phase: str
    code: Code
    message: str = ""


class AgentQuiet(Body, frozen=True, tag="agent_quiet"):
    """No sign of life for half of the time that is allowed."""

    attempt: int
    seconds: int


class AgentWarned(Body, frozen=True, tag="agent_warned"):
    """Something about an attempt that its agent does not say."""

    message: str


class ModelWoke(Body, frozen=True, tag="model_woke"):
    """A model that rested, or was at its limit, works again."""

    model: str
    reason: str = ""  # what it comes back from


class WorkAdjusted(Body, frozen=True, tag="work_adjusted"):
    """Many failures of one kind: from now on the run works more carefully."""

    kind: str
    message: str


class BudgetWarned(Body, frozen=True, tag="budget_warned"):
    which: str
    percent: int
    message: str


class SourceTold(Body, frozen=True, tag="source_told"):
    """Where the task came from says now that it is done: a box is ticked, an issue has a comment."""

    source: str


class SourceNotTold(Body, frozen=True, tag="source_not_told"):
    """It could not be told; the next import from there tries again."""

    source: str
    message: str


class StillBusy(Body, frozen=True, tag="still_busy"):
    """Something besides an agent takes its time: a worktree, a setup, a gate."""

    message: str
    log: str = ""  # what it prints meanwhile, below the task's directory
    files: int = 0  # about as many files as its worktree will have


class WaitStarted(Body, frozen=True, tag="wait_started"):
    until: float | None  # null: nobody knows
    reason: str = ""


class WaitEnded(Body, frozen=True, tag="wait_ended"):
    reason: str = ""


Notice = (
    PhaseStarted
    | IterationStarted
    | AttemptStarted
    | AttemptEnded
    | ToolUsedNotice
    | UsageReported
    | ParseError
    | SessionNoted
    | PhaseCompleted
    | PhaseFailed
    | PhaseRetried
    | AgentReported
    | AgentQuiet
    | AgentWarned
    | ModelWoke
    | WorkAdjusted
    | BudgetWarned
    | SourceTold
    | SourceNotTold
    | StillBusy
    | WaitStarted
    | WaitEnded
)
