"""Test doubles of an executor, a command runner, a model client and a debugger."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field

from ostler.calls.breakpoints import Breakpoint
from ostler.calls.debugger import DebugEvent, PrePromptEvent, StopRun, ToolCallEvent
from ostler.executors.protocol import Capabilities
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.llm.timeouts import cancellable_sleep
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.command import Command, Exit, Sink
from ostler.process.protocol import Conversation

CallFunction = Callable[[AgentCall, OnEvent], Awaitable[CallResult]]

_CAPABILITIES = Capabilities(resumes=True, accepts_session_id=True)
_WELL = Exit(0, 0.0)
_ANSWER = ClaudeResponse("Mock output for task", 100, 200, "end_turn")


@dataclass
class MockExecutor:
    """An executor made of functions; a function that is None has a default."""

    name: str = "mock"
    capabilities: Capabilities = _CAPABILITIES
    spawn_function: CallFunction | None = None
    resume_function: CallFunction | None = None
    validate_function: Callable[[], None] | None = None
    calls: list[tuple[str, AgentCall]] = field(default_factory=list[tuple[str, AgentCall]])

    def validate_availability(self) -> None:
        """Call the function, which may raise."""
        if self.validate_function is not None:
            self.validate_function()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Record the call and return the result of the function, or a success."""
        self.calls.append(("spawn", call))
        return await (self.spawn_function or _succeed)(call, on_event)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Record the call and return the result of the function, or a success."""
        self.calls.append(("resume", call))
        return await (self.resume_function or _succeed)(call, on_event)


@dataclass
class MockCommandRunner:
    """A runner that starts nothing: it passes its lines to the sink and records every command."""

    lines: Iterable[bytes] = ()
    exit: Exit = _WELL
    run_function: Callable[[Command, Sink], Awaitable[Exit]] | None = None
    commands: list[Command] = field(default_factory=list[Command])
    written: list[bytes] = field(default_factory=list[bytes])  # what a conversation wrote to the program
    missing: Collection[str] = ()  # programs that are not found

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Record the command, pass on the lines and return the exit."""
        self.commands.append(command)
        if self.run_function is not None:
            return await self.run_function(command, sink)
        for line in self.lines:
            sink(line)
        return self.exit

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """Pass each line to the conversation, whatever it wrote."""
        conversation.start(self.written.append)
        return await self.run(command, conversation.receive_line)

    def find_program(self, command: str) -> str | None:
        """Find every program by its name, whether it is installed or not; a path must be executable."""
        is_missing = "/" in command and not os.access(command, os.X_OK)
        return None if is_missing or command in self.missing else command

    @property
    def last(self) -> Command:
        """The last command: argv, env, stdin, cwd."""
        return self.commands[-1]

    @property
    def last_name(self) -> str:
        """The program of the last command."""
        return self.last.argv[0]

    @property
    def last_args(self) -> list[str]:
        """The arguments of the last command."""
        return list(self.last.argv[1:])

    @property
    def last_stdin(self) -> str:
        """The input of the last command."""
        return self.last.stdin.decode("utf-8", "replace")


@dataclass
class MockClaudeClient:
    """A model client that answers with the generator or a fixed text, and records the requests."""

    generator: Callable[[ClaudeRequest], ClaudeResponse] | None = None
    calls: list[ClaudeRequest] = field(default_factory=list[ClaudeRequest])
    _error: Exception | None = None
    _one_shot: bool = True
    _delay_ms: float = 0.0

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Wait for the delay, then raise the error or return the answer; an abort raises ABORTED."""
        await cancellable_sleep(self._delay_ms / 1000, request.signal)
        self.calls.append(request)
        if (error := self._error) is not None:
            self._error = None if self._one_shot else error
            raise error
        return self.generator(request) if self.generator else _ANSWER

    def set_error(self, error: Exception, *, one_shot: bool = True) -> None:
        """Make the next call raise this error; with one_shot=False, every call until clear_error."""
        self._error, self._one_shot = error, one_shot

    def clear_error(self) -> None:
        self._error = None

    def set_delay(self, ms: float) -> None:
        """Set the duration of each further call in milliseconds."""
        self._delay_ms = ms


@dataclass
class MockDebugger:
    """A debugger that records every event; it changes the next prompt if `modified_prompt` is set.

    It stops at tool calls with a breakpoint, and continues at once. It implements both interfaces:
    `pre_prompt`, and `emit` with `get_and_clear_modified_prompt`.
    """

    modified_prompt: str | None = None  # sent instead of the next prompt, once
    breakpoints: tuple[Breakpoint, ...] = ()
    stops: bool = False  # raise StopRun at the next prompt
    events: list[DebugEvent] = field(default_factory=list[DebugEvent])

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """Record the event and return the changed prompt."""
        self.emit(event)
        if self.stops:
            raise StopRun
        return self.get_and_clear_modified_prompt()

    def breaks_at(self, event: DebugEvent) -> bool:
        """Return whether a breakpoint matches."""
        return any(one.matches(event) for one in self.breakpoints)

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Record the event."""
        self.emit(event)

    def emit(self, event: DebugEvent) -> None:
        """Record the event."""
        self.events.append(event)

    def get_and_clear_modified_prompt(self) -> str | None:
        """Return the changed prompt once."""
        modified, self.modified_prompt = self.modified_prompt, None
        return modified

    @property
    def prompts(self) -> list[str]:
        """The prompts before the debugger changed them."""
        return [event.prompt for event in self.events if isinstance(event, PrePromptEvent)]


async def _succeed(call: AgentCall, on_event: OnEvent) -> CallResult:
    del on_event
    text = "Done.\n\n<phase_complete>true</phase_complete>"
    return CallResult(None, text=text, session_id=call.session_id, model=call.model, exit_code=0)
