"""One call of an agent: what is asked, what is heard while it works, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.model.command import Vigil
from ostler.model.usage import Usage

Permissions = Literal["ask", "accept-edits", "skip"]


class AgentCall(Struct, frozen=True):
    """What an executor is asked to do. The first three fields are the seeds'."""

    agent: str  # the role: implementer, reviewer, ...
    prompt: str
    session_id: str = ""  # ours to propose on spawn, the agent's to continue on resume
    fresh_prompt: str = ""  # on resume: what to send instead when the session turns out not to exist
    schema: str = ""  # of the final text, as JSON; empty: free text. Who cannot enforce one passes over it
    key: str = ""  # of the question: the same when it is asked again because nobody heard the answer
    system: str = ""  # who the agent is: said once, as a session begins, or beside every prompt of it
    model: str = ""  # empty: the agent's own default
    cwd: str = "."
    env: dict[str, str] = {}  # the child's whole environment, before the executor adds its own switches
    transcript: str = ""  # where the raw bytes go
    timeout_seconds: float = 3600.0
    idle_timeout_seconds: float = 600.0
    result_grace_seconds: float = 10.0
    grace_seconds: float = 5.0
    nice: int = 0
    memory_mb: int | None = None  # for the agent and all that it starts; None: no limit
    session_cost_usd: float = 0.0  # what the session had cost before; for agents that report a running total
    session_usage: Usage = Usage()  # the same for tokens
    vigil: Vigil | None = None  # asked when the agent is silent; None: the idle timeout decides alone


class SessionStarted(Struct, frozen=True, tag="session_started"):
    session_id: str
    model: str = ""
    version: str = ""


class SessionReplaced(Struct, frozen=True, tag="session_replaced"):
    """The session was not as we thought: there when it should be new, or gone when it should be there."""

    session_id: str
    resumed: bool  # true: its history goes on; false: it was begun again and remembers nothing


class TextSaid(Struct, frozen=True, tag="text_said"):
    text: str


class ToolUsed(Struct, frozen=True, tag="tool_used"):
    tool: str
    detail: str = ""  # one short line: the command, the path
    id: str = ""  # the agent's own; what the tool returns names it
    input: Raw = Raw(b"{}")  # what it was asked, as a JSON object; an edit's old and new text among it


class ToolReturned(Struct, frozen=True, tag="tool_returned"):
    id: str  # of the use; empty where the agent does not number them
    text: str = ""  # what came of it, as the agent was told
    failed: bool = False


class ToolDenied(Struct, frozen=True, tag="tool_denied"):
    tool: str
    detail: str = ""


class RetrySeen(Struct, frozen=True, tag="retry_seen"):
    """The agent itself waits for its provider."""

    code: Code
    delay_seconds: float


class UsageSeen(Struct, frozen=True, tag="usage_seen"):
    usage: Usage


class LineUnread(Struct, frozen=True, tag="line_unread"):
    """A line that is not what this agent prints; kept in the transcript."""

    detail: str


class Warned(Struct, frozen=True, tag="warned"):
    """Something about this run that a person should know, and that the agent itself does not say."""

    message: str


AgentEvent = (
    SessionStarted
    | SessionReplaced
    | TextSaid
    | ToolUsed
    | ToolReturned
    | ToolDenied
    | RetrySeen
    | UsageSeen
    | LineUnread
    | Warned
)
OnEvent = Callable[[AgentEvent], None]


class CallResult(Struct, frozen=True):
    """How one attempt ended, in words that do not depend on the agent."""

    code: Code | None  # None: it succeeded
    message: str = ""  # one sentence when it did not
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
    peak_memory_mb: int | None = None  # of the agent and all that it started; None: unknown
    warnings: tuple[str, ...] = ()
    final: bool = False  # the executor's word that the same again would not help, whatever the code

    @property
    def ok(self) -> bool:
        return self.code is None
