"""One call of an agent: the request, the events while it runs, and the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.model.command import Launcher, Supervision
from ostler.model.limits.window import ReportedWindow
from ostler.model.policy.sandbox import RefusalKind
from ostler.model.todo import Todo
from ostler.model.usage import Usage

Permissions = Literal["ask", "accept-edits", "skip"]
"""What an agent may do without a question, for one start."""
PermissionSetting = Literal["auto", "ask", "accept-edits", "skip"]
"""The same in the settings; `auto`: skip in a sandbox whose self-test passed, else accept-edits."""
Billing = Literal["api", "subscription", "proxy", "unknown"]
"""How the account is billed: per token, by a plan (costs are then estimates), or through a proxy."""

FreshPrompt = Callable[[], Awaitable[str]]
"""Returns the prompt for a new session; it describes the work so far, which takes several git processes."""

READ_SKILL_FILE = "read_skill_file"
"""The tool with which a model API reads AgentCall.skill_directory."""


class SandboxAccess(Struct, frozen=True):
    """What is different in the start of an agent in a sandbox, after all settings."""

    env: dict[str, str] = {}  # the address of the proxy, and placeholders instead of keys
    removed: tuple[str, ...] = ()  # variables that the agent does not get
    arguments: tuple[str, ...] = ()

    def apply(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the variables in the sandbox."""
        return {**{name: value for name, value in env.items() if name not in self.removed}, **self.env}


class AgentCall(Struct, frozen=True):
    """The request to an executor. The first three fields are those of sow's executors."""

    agent: str  # the role: implementer, reviewer, ...
    prompt: str
    session_id: str = ""  # spawn: the id to use for a new session; resume: the session to continue
    # On resume: the prompt for a new session if this one is lost; None: SESSION_NOT_FOUND.
    fresh_prompt: FreshPrompt | None = None
    schema: str = ""  # JSON schema of the final text; empty: free text. Ignored by executors without schemas
    key: str = ""  # idempotency key: the same when the call is repeated after a lost answer
    system: str = ""  # system prompt: sent when a session starts, or with every prompt
    skill_directory: str = ""  # files of a skill that a model API can read with a tool; empty: there are none
    model: str = ""  # empty: the agent's own default
    cwd: str = "."
    env: dict[str, str] = {}  # the complete environment, before the executor adds its own variables
    transcript: str = ""  # path for the raw output
    timeout_seconds: float = 3600.0
    idle_timeout_seconds: float = 600.0
    result_grace_seconds: float = 10.0
    grace_seconds: float = 5.0
    nice: int = 0
    memory_mb: int | None = None  # limit for the agent and its child processes; None: no limit
    session_cost_usd: float = 0.0  # cost of the session so far, for agents that report a running total
    session_usage: Usage = Usage()  # the same for tokens
    supervision: Supervision | None = None  # decides about an idle agent; None: the idle timeout applies
    allowed_commands: tuple[str, ...] = ()  # shell commands that the agent may run: those of the gates
    allow_unsandboxed_skip: bool = False  # start an agent that skips its permission checks
    launcher: Launcher | None = None  # starts the program in its sandbox; None: without one
    in_verified_sandbox: bool = False  # the self-test of its sandbox passed in this process
    home: str = ""  # the directory on this machine that is the home directory in the sandbox
    model_url: str = ""  # address of the proxy for model calls, inside the sandbox; empty: there is none
    access: SandboxAccess = SandboxAccess()  # changes of the start in its sandbox


class SessionStarted(Struct, frozen=True, tag="session_started"):
    session_id: str
    model: str = ""
    version: str = ""


class SessionReplaced(Struct, frozen=True, tag="session_replaced"):
    """The session existed although it should be new, or was missing although it should exist."""

    session_id: str
    resumed: bool  # true: the existing session continues; false: a new one without history was started


class TextReceived(Struct, frozen=True, omit_defaults=True, tag="text_received"):
    text: str
    is_line: bool = False  # a line of plain output, not a message: the next one follows without a gap


class ThinkingReceived(Struct, frozen=True, tag="thinking_received"):
    """What the model thought before it answered, as far as the agent prints it."""

    text: str


class TodosReported(Struct, frozen=True, tag="todos_reported"):
    """The agent's whole todo list, if it does not write it with a tool."""

    todos: tuple[Todo, ...]


class ToolUsed(Struct, frozen=True, tag="tool_used"):
    tool: str
    detail: str = ""  # one short line: the command, the path
    id: str = ""  # assigned by the agent; repeated in ToolReturned
    input: Raw = Raw(b"{}")  # the arguments as a JSON object


class ToolReturned(Struct, frozen=True, tag="tool_returned"):
    id: str  # of the ToolUsed event; empty if the agent assigns no ids
    text: str = ""  # the output that the agent received
    failed: bool = False


class ToolDenied(Struct, frozen=True, tag="tool_denied"):
    tool: str
    detail: str = ""


class RetryReported(Struct, frozen=True, tag="retry_reported"):
    """The agent waits before it retries a request to its provider."""

    code: Code
    delay_seconds: float  # 0: not reported


def describe_retry(code: str, delay_seconds: float) -> str:
    """Return what an agent does after it reported a retry."""
    wait = f"waits {delay_seconds:.0f} s" if delay_seconds else "waits"
    return f"{wait} for its provider ({code})"


class LimitReported(Struct, frozen=True, tag="limit_reported"):
    """The provider reported how much of its windows is used."""

    windows: tuple[ReportedWindow, ...]


class AccessRefused(Struct, frozen=True, tag="access_refused"):
    """The sandbox refused an access of the agent."""

    kind: RefusalKind
    target: str
    setting: str = ""  # the setting that would allow it


class UsageReported(Struct, frozen=True, tag="usage_reported"):
    usage: Usage


class LineSkipped(Struct, frozen=True, tag="line_skipped"):
    """A line of output that could not be parsed; it is kept in the transcript."""

    detail: str


class WarningRaised(Struct, frozen=True, tag="warning_raised"):
    """A warning for the user about this attempt."""

    message: str


AgentEvent = (
    SessionStarted
    | SessionReplaced
    | TextReceived
    | ThinkingReceived
    | TodosReported
    | ToolUsed
    | ToolReturned
    | ToolDenied
    | RetryReported
    | LimitReported
    | AccessRefused
    | UsageReported
    | LineSkipped
    | WarningRaised
)
OnEvent = Callable[[AgentEvent], None]


class CallResult(Struct, frozen=True):
    """How one attempt ended, in the same form for every agent."""

    code: Code | None  # None: success
    message: str = ""  # describes the failure
    text: str = ""  # the agent's final text
    session_id: str = ""  # as the agent reported it
    model: str = ""  # as the agent reported it
    exit_code: int | None = None
    duration_seconds: float = 0.0
    usage: Usage = Usage()
    cost_usd: float | None = None  # of this attempt alone; None: unknown
    session_cost_usd: float | None = None  # the running total, where the agent reports one
    session_usage: Usage | None = None  # the same for tokens
    retry_after_seconds: float | None = None
    peak_memory_mb: int | None = None  # of the agent and its child processes; None: unknown
    warnings: tuple[str, ...] = ()
    replayed: bool = False  # an earlier attempt received this answer; no request was sent
    billing: Billing | None = None  # as the agent reported it; None: not reported
    windows: tuple[ReportedWindow, ...] = ()  # of the provider, as it reported them last
    final: bool = False  # the executor reports that a retry is useless, whatever the code
    is_stopped: bool = False  # by a person: neither the agent nor its model failed

    @property
    def ok(self) -> bool:
        return self.code is None
