"""The protocol of an executor, which is the adapter for one agent program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

from msgspec import Struct

from ostler.config.settings import ExecutorSettings
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.protocol import CommandRunner


class Capabilities(Struct, frozen=True):
    """What an agent can do; the conformance suite checks every claim."""

    resumes: bool = False  # it can continue an earlier session
    accepts_session_id: bool = False  # Ostler chooses the session id
    reports_usage: bool = False  # its output has token counts
    reports_cost: bool = False  # its output has the cost in US dollars
    answers: bool = True  # its final text is an answer; false: only its changes count
    starts_program: bool = True  # false: it calls a model API
    changes_files: bool = True  # false: its answer is the whole result
    stdin_prompt: bool = True  # the prompt is not an argument, so it may have any length
    acp: bool = False  # it supports the Agent Client Protocol
    structured_output: bool = False  # it enforces the schema of a call
    own_sandbox: bool = False  # it restricts its tools to the workspace by itself
    has_account: bool = True  # calls count against an account of a provider; false: nothing leaves the host
    environment: tuple[str, ...] = ()  # names and patterns of the variables that it needs
    environment_with: dict[str, tuple[str, ...]] = {}  # those that it needs only when the key is set


class Executor(Protocol):
    """Turns an AgentCall into AgentEvents and a CallResult; it has no state and can be shared."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do."""
        ...

    def validate_availability(self) -> None:
        """Raise AgentUnavailable, with the command that installs the program, when it is not installed."""
        ...

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Start a new session; expected failures are in the result, only cancellation is raised."""
        ...

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue call.session_id with call.prompt.

        A lost session is replaced by a new one with call.fresh_prompt; if that is None, SESSION_NOT_FOUND.
        """
        ...


def supports_resumption(executor: Executor) -> bool:
    """Return whether the executor can continue an earlier session."""
    return executor.capabilities.resumes


@runtime_checkable
class SearchesPrograms(Protocol):
    """An executor that searches its program with these variables; None: those of this process."""

    environ: Mapping[str, str] | None


ExecutorFactory = Callable[[str, ExecutorSettings, CommandRunner], Executor]
"""Makes an executor from its registered name, its settings and the runner that starts programs."""


_OFF = ("", "0", "false", "no")


def select_environment(capabilities: Capabilities, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of environ that the executor declares."""
    patterns = list(capabilities.environment)
    for variable, more in capabilities.environment_with.items():
        if environ.get(variable, "").lower() not in _OFF:
            patterns += more
    return {name: value for name, value in environ.items() if _matches(name, patterns)}


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
