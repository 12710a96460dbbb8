"""The executors of sow with their own names and signatures.

An error of Go is an exception here, and a context is the cancellation of the caller: `asyncio.timeout` or
`task.cancel()` stops the agent. The executors of Ostler do the work.
"""

from __future__ import annotations

import builtins
import os
import uuid
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.sandbox.agent import AgentSandbox, open_agent_sandbox
from ostler.compat.sow_runners import (
    CommandRunner,
    DefaultCommandRunner,
    MockCommandRunner,
    MockExecutor,
    RunnerAdapter,
    adapt_runner,
)
from ostler.config.settings import ExecutorSettings, SandboxSettings, Settings
from ostler.errors import Code, OstlerError, UsageError
from ostler.executors.claude.executor import ClaudeExecutor as NativeClaude
from ostler.executors.cursor import CursorExecutor as NativeCursor
from ostler.executors.program.executor import ProgramExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent
from ostler.process import protocol
from ostler.prompt import role
from ostler.prompt.role import AGENTS, Agent

__all__ = [
    "Agent",
    "Architect",
    "ClaudeExecutor",
    "CommandRunner",
    "CursorExecutor",
    "Decomposer",
    "DefaultCommandRunner",
    "Executor",
    "ExecutorError",
    "ExecutorRegistry",
    "Implementer",
    "MockCommandRunner",
    "MockExecutor",
    "Planner",
    "Researcher",
    "Reviewer",
    "load_prompt",
    "new_claude_executor",
    "new_claude_executor_with_runner",
    "new_cursor_executor",
    "new_cursor_executor_with_runner",
    "new_executor_registry",
]

Implementer, Architect, Reviewer = AGENTS["implementer"], AGENTS["architect"], AGENTS["reviewer"]
Planner, Researcher, Decomposer = AGENTS["planner"], AGENTS["researcher"], AGENTS["decomposer"]
Runner = CommandRunner | protocol.CommandRunner


class Executor(Protocol):
    """Invokes the CLI of an agent and manages its sessions."""

    def name(self) -> str:
        """Return the name in the registry, such as claude-code or cursor."""
        ...

    async def spawn(self, agent: Agent, prompt: str, session_id: str) -> object:
        """Start an agent with a prompt and a session id, and return when it has ended.

        Store the session id before the call. Raises when the agent fails; cancelling it stops the agent.
        """
        ...

    async def resume(self, session_id: str, prompt: str) -> object:
        """Continue a session, and return when the agent has ended.

        Raises when the session is not found, the executor cannot resume, or the agent fails.
        """
        ...

    def supports_resumption(self) -> bool:
        """Return whether the executor can resume sessions."""
        ...


class ExecutorError(OstlerError):
    """An agent failed: `claude spawn failed: ...`."""


class ProgramSessions:
    """Starts and resumes the sessions of one agent program; has no other state and can be shared."""

    kind: ClassVar[type[ProgramExecutor]]
    label: ClassVar[str]  # of the executor
    program: ClassVar[str]

    def __init__(
        self,
        yolo_mode: bool = False,
        model: str = "",
        *,
        runner: Runner | None = None,
        cwd: str | Path = ".",
        settings: Settings | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        if not isinstance(yolo_mode, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"yolo_mode: expected True or False, got {yolo_mode!r}")
        self._model, self._cwd, self._runner = _check_text("model", model), Path(cwd), runner
        self._settings = settings or Settings()
        self._permissions = "skip" if yolo_mode else "accept-edits"
        self._on_event = on_event or _ignore
        self._own_ids: dict[str, str] = {}  # ids of sessions -> those that the agent chose itself

    def name(self) -> str:
        return self.label

    def supports_resumption(self) -> bool:
        return self.kind.spec.capabilities.resumes

    def validate_availability(self) -> None:
        """Raise AgentUnavailable, with the command that installs the program, when it is not installed."""
        self._make(adapt_runner(self._runner)).validate_availability()

    async def spawn(self, agent: Agent, prompt: str, session_id: str) -> CallResult:
        """Send the prompt of the agent, an empty line and the prompt. Raises ExecutorError."""
        if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"agent: expected an Agent such as Implementer, got {agent!r}")
        text = f"{load_prompt(agent, self._cwd)}\n\n{_check_prompt(prompt)}"
        session = _check_text("session_id", session_id)
        result = await self._call("spawn", AgentCall(agent.name, text, session))
        self._own_ids[session] = result.session_id or session
        return result

    async def resume(self, session_id: str, prompt: str) -> CallResult:
        """Send only the new prompt. Raises ExecutorError, with SESSION_NOT_FOUND for an unknown session."""
        text, session = _check_prompt(prompt), _check_text("session_id", session_id)
        if not session:
            message = f"{self.program} resume failed: the session id is empty"
            raise ExecutorError(Code.SESSION_NOT_FOUND, message, "pass the id of a session that was spawned")
        return await self._call("resume", AgentCall("", text, self._own_ids.get(session, session)))

    async def _call(self, verb: str, call: AgentCall) -> CallResult:
        runner = adapt_runner(self._runner)
        executor = self._make(runner)
        if not self._cwd.is_dir():
            raise UsageError(f"cwd: expected a directory, got {str(self._cwd)!r}")
        executor.validate_availability()
        result = await self._run(executor, self._complete(executor, call), resume=verb == "resume")
        is_plain = isinstance(runner, RunnerAdapter)
        if result.ok or (is_plain and runner.succeeded):
            return result if result.ok else CallResult(None, session_id=call.session_id, exit_code=0)
        error = runner.error if is_plain else None
        message = f"{self.program} {verb} failed: {error or result.message}"
        raise ExecutorError(result.code or Code.AGENT_FAILED, message, _HINTS.get(result.code, "")) from error

    async def _run(self, executor: ProgramExecutor, call: AgentCall, *, resume: bool) -> CallResult:
        settings = self._settings
        if self._runner is not None:
            # A runner of the caller starts the program itself, so there is no sandbox around it.
            settings = replace(settings, sandbox=replace(settings.sandbox, tier="supervised"))
        agent = AgentSandbox(call, executor, settings, self._on_event, host_environ=os.environ)
        async with open_agent_sandbox(agent) as sandboxed:
            start = executor.resume if resume else executor.spawn
            return await start(sandboxed.call, sandboxed.on_event or self._on_event)

    def _make(self, runner: protocol.CommandRunner) -> ProgramExecutor:
        own = self._settings.executors.get(self.kind.spec.program.name, ExecutorSettings())
        return self.kind(self.label, replace(own, permissions=cast(Any, self._permissions)), runner)

    def _complete(self, executor: ProgramExecutor, call: AgentCall) -> AgentCall:
        marker = identity_variables(f"sow:{uuid.uuid4()}", str(self._cwd.resolve()))
        base = create_base_call(self._settings, executor.capabilities, os.environ, marker)
        own = {"agent": call.agent, "prompt": call.prompt, "session_id": call.session_id}
        return replace(base, **own, model=self._model, cwd=str(self._cwd.resolve()))


class ClaudeExecutor(ProgramSessions):
    """Runs Claude Code; `yolo_mode` is --dangerously-skip-permissions, `model` is --model."""

    kind, label, program = NativeClaude, "claude-code", "claude"


class CursorExecutor(ProgramSessions):
    """Runs cursor-agent; `yolo_mode` is --force. Cursor chooses the id of a chat, which the result has."""

    kind, label, program = NativeCursor, "cursor", "cursor-agent"


class ExecutorRegistry:
    """Executors by name; empty at first."""

    def __init__(self) -> None:
        self._executors: dict[str, Executor] = {}

    def register(self, name: str, executor: Executor) -> None:
        """Add an executor. Raises UsageError for a name that is taken or empty, and for another object."""
        if not _check_text("name", name):
            raise UsageError("the name of an executor is empty", "pass a name such as claude-code")
        if name in self._executors:
            raise UsageError(f"executor {name} is already registered", "choose another name")
        if isinstance(executor, type) or not callable(getattr(executor, "spawn", None)):
            raise UsageError(f"cannot register {executor!r} as executor {name}", "pass an executor")
        self._executors[name] = executor

    def get(self, name: str) -> Executor:
        """Return the executor; raises UsageError for an unknown name."""
        if name not in self._executors:
            available = ", ".join(self.list()) or "none is registered"
            raise UsageError(f"unknown executor: {name}", f"available: {available}")
        return self._executors[name]

    def list(self) -> builtins.list[str]:
        """Return the names, sorted."""
        return sorted(self._executors)


def new_claude_executor(yolo_mode: bool, model: str) -> ClaudeExecutor:
    """Return an executor that starts the real claude."""
    return ClaudeExecutor(yolo_mode, model)


def new_claude_executor_with_runner(yolo_mode: bool, model: str, runner: Runner) -> ClaudeExecutor:
    """Return an executor whose programs the runner starts, in tests a MockCommandRunner."""
    return ClaudeExecutor(yolo_mode, model, runner=runner, settings=_unsandboxed(yolo_mode, runner))


def new_cursor_executor(yolo_mode: bool) -> CursorExecutor:
    """Return an executor that starts the real cursor-agent."""
    return CursorExecutor(yolo_mode)


def new_cursor_executor_with_runner(yolo_mode: bool, runner: Runner) -> CursorExecutor:
    """Return an executor whose programs the runner starts, in tests a MockCommandRunner."""
    return CursorExecutor(yolo_mode, runner=runner, settings=_unsandboxed(yolo_mode, runner))


def new_executor_registry() -> ExecutorRegistry:
    """Return an empty registry."""
    return ExecutorRegistry()


def load_prompt(agent: Agent | str, root: str | Path = ".") -> str:
    """Return the prompt of an agent or prompt path; a file in .agents/roles of the project replaces it."""
    name = agent.name if isinstance(agent, Agent) else _check_text("path", agent).removesuffix(".md")
    return role.load_prompt(role.find_agent(name, Path(root)), Path(root))


_HINTS: dict[Code | None, str] = {
    Code.SESSION_NOT_FOUND: "start a new session with spawn",
    Code.SANDBOX_UNAVAILABLE: "pass settings=Settings(sandbox=SandboxSettings(allow_unsandboxed_skip=True))",
}


def _unsandboxed(yolo_mode: bool, runner: Runner) -> Settings | None:
    """Allow yolo mode where no program is started: with a test double."""
    allowed = yolo_mode is True and isinstance(runner, MockCommandRunner)
    return Settings(sandbox=SandboxSettings(allow_unsandboxed_skip=True)) if allowed else None


def _check_prompt(prompt: str) -> str:
    if not _check_text("prompt", prompt).strip():
        raise UsageError("the prompt is empty", "pass a text")
    return prompt


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}: expected a text, got {value!r}")
    return value


def _ignore(event: AgentEvent) -> None:
    del event
