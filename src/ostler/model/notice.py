"""Notices: entries of the feed that do not change the state."""

from __future__ import annotations

from ostler.errors import Code
from ostler.model.events.body import Body
from ostler.model.policy.sandbox import RefusalKind, SandboxRecord
from ostler.model.todo import Todo
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
    sandbox: SandboxRecord | None = None  # null: it does not work, or an older version wrote it


class AttemptEnded(Body, frozen=True, tag="attempt_ended"):
    number: int
    status: str
    code: Code | None = None
    message: str = ""
    exit_code: int | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    sandbox: SandboxRecord | None = None  # null: it did not start, or an older version wrote it
    permissions: str = ""  # that the agent got


class ToolUsedNotice(Body, frozen=True, tag="tool_used"):
    tool: str
    detail: str = ""
    denied: bool = False


class UsageNotice(Body, frozen=True, tag="usage_reported"):
    usage: Usage


class TodosReportedNotice(Body, frozen=True, tag="todos_reported"):
    """The whole todo list of the agent, after it changed."""

    todos: tuple[Todo, ...]


class ParseError(Body, frozen=True, tag="parse_error"):
    detail: str


class SessionReplacedNotice(Body, frozen=True, tag="session_replaced"):
    session_id: str
    resumed: bool  # true: an existing session continues; false: a new one was started


class PhaseCompleted(Body, frozen=True, tag="phase_completed"):
    phase: str
    commit: str | None = None


class PhaseRetried(Body, frozen=True, tag="phase_retried"):
    """A phase did not pass; the work continues in phase `to`."""

    phase: str
    to: str
    attempt: int
    context: str = ""  # path of the text for the next call, relative to the task's directory
    code: Code | None = None  # null: its gate rejected the work
    message: str = ""  # the reason of a blocked phase


class AgentReported(Body, frozen=True, tag="agent_reported"):
    """The agent reported the status of its task (`ostler report`)."""

    attempt: int
    status: str
    reason: str = ""


class ReviewSent(Body, frozen=True, tag="review_sent"):
    """A person reviewed completed work without a decision that changes the task."""

    number: int
    verdict: str  # approve, or changes: the work goes back
    by: str
    comments: int = 0
    text: str = ""  # the start of the text about the whole work


class PhaseFailed(Body, frozen=True, tag="phase_failed"):
    phase: str
    code: Code
    message: str = ""


class AgentIdle(Body, frozen=True, tag="agent_idle"):
    """No activity for half of the idle timeout."""

    attempt: int
    seconds: int


class AgentWarned(Body, frozen=True, tag="agent_warned"):
    """A warning about an attempt."""

    message: str


class AccessRefusedNotice(Body, frozen=True, tag="access_refused"):
    """The sandbox refused an access of an agent, a setup command or a gate."""

    kind: RefusalKind
    target: str
    setting: str = ""  # the setting that would allow it


class ModelRecovered(Body, frozen=True, tag="model_recovered"):
    """A model works again after a cooldown or limit."""

    model: str
    reason: str = ""  # the cooldown or limit that ended
    account: str = ""  # on screens; empty after a cooldown
    window: str = ""  # that is open again: five_hour, login, ...
    reported: bool = False  # a provider_unavailable was recorded when it was closed, in some project


class ProviderUnavailable(Body, frozen=True, tag="provider_unavailable"):
    """No call to a provider is started until a probe succeeds; recorded once, not for every task."""

    model: str
    code: Code
    message: str
    until: float | None = None  # time of the next probe, or end of the limit
    account: str = ""  # on screens
    window: str = ""  # that is closed: five_hour, quota, login, ...


class ModelCooldown(Body, frozen=True, tag="model_cooldown"):
    """A model is skipped for a time after failures in a row; model_recovered follows its next success."""

    model: str
    code: Code  # of the last failure
    message: str
    until: float  # end of the cooldown


class ReviewReminded(Body, frozen=True, tag="review_reminded"):
    """A human gate waits longer than `human_timeout_seconds`, and the policy is to remind."""

    phase: str
    message: str


class RetriesUsedUp(Body, frozen=True, tag="retries_used_up"):
    """The retries per hour of all tasks are used; a failure was not retried."""

    message: str


class ConcurrencyReduced(Body, frozen=True, tag="concurrency_reduced"):
    """After many failures of one kind, the run lowers its concurrency or extends its delays."""

    kind: str
    message: str


class BudgetWarned(Body, frozen=True, tag="budget_warned"):
    scope: str
    percent: int
    message: str


class SourceUpdated(Body, frozen=True, tag="source_updated"):
    """The source of the task was updated: a checkbox was ticked, an issue was commented."""

    source: str


class SourceUpdateFailed(Body, frozen=True, tag="source_update_failed"):
    """The source could not be updated; the next import tries again."""

    source: str
    message: str


class StepProgress(Body, frozen=True, tag="step_progress"):
    """A step other than a call takes long: a worktree, a setup, a gate."""

    message: str
    log: str = ""  # path of its output, relative to the task's directory
    files: int = 0  # approximate number of files in the new worktree


class WaitStarted(Body, frozen=True, tag="wait_started"):
    until: float | None  # null: unknown
    reason: str = ""


class WaitEnded(Body, frozen=True, tag="wait_ended"):
    reason: str = ""


Notice = (
    PhaseStarted
    | IterationStarted
    | AttemptStarted
    | AttemptEnded
    | ToolUsedNotice
    | UsageNotice
    | TodosReportedNotice
    | ParseError
    | SessionReplacedNotice
    | PhaseCompleted
    | ReviewSent
    | PhaseFailed
    | PhaseRetried
    | AgentReported
    | AgentIdle
    | AgentWarned
    | AccessRefusedNotice
    | ModelRecovered
    | ProviderUnavailable
    | ModelCooldown
    | RetriesUsedUp
    | ReviewReminded
    | ConcurrencyReduced
    | BudgetWarned
    | SourceUpdated
    | SourceUpdateFailed
    | StepProgress
    | WaitStarted
    | WaitEnded
)
