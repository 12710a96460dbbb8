"""What an executor is: the adapter for one agent program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from ostler.config.settings import ExecutorSettings
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner


class Capabilities(Struct, frozen=True):
    """What an agent program can do, as data; the conformance suite checks every claim."""

    resumes: bool = False  # an earlier session can be continued
    takes_our_id: bool = False  # the session id is ours to choose
    reports_usage: bool = False  # tokens are in its output
    reports_cost: bool = False  # dollars are in its output
    speaks: bool = True  # its final text is an answer; false: only what it changed counts
    starts_program: bool = True  # false: it asks a model itself
    stdin_prompt: bool = True  # the prompt is no argument: it may have any length
    acp: bool = False  # it speaks the Agent Client Protocol
    structured_output: bool = False  # it is held to the schema of a call: its final text is such an object
    own_sandbox: bool = False  # as we start it, it confines its own tools to the workspace
    environment: tuple[str, ...] = ()  # names and patterns of variables that it needs
    environment_with: dict[str, tuple[str, ...]] = {}  # and those that it needs only when the first is set


class Executor(Protocol):
    """Turns an AgentCall into AgentEvents and a CallResult; stateless and safe to share."""

    @property
    def name(self) -> str:
        """The name that it is registered by: claude, mine, ..."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def validate_availability(self) -> None:
        """Raise AgentUnavailable, with the command that installs it, when the program is not there."""
        ...

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Start a new session. Expected failures are in the result; only cancellation is raised."""
        ...

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue call.session_id with call.prompt."""
        ...


def supports_resumption(executor: Executor) -> bool:
    """Whether it may be asked to resume: what it claims, which the conformance suite checks."""
    return executor.capabilities.resumes


ExecutorFactory = Callable[[str, ExecutorSettings, CommandRunner], Executor]
"""Makes an executor from its registered name, its settings and the runner that it may start things with."""
