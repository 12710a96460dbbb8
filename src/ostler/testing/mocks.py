"""Test doubles for what is above the process edge: an executor and a runner that only pretend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.command import Command, Exit, Sink

CallFunction = Callable[[AgentCall, OnEvent], Awaitable[CallResult]]

_CAPABILITIES = Capabilities(resumes=True, takes_our_id=True)
_WELL = Exit(0, 0.0)


@dataclass
class MockExecutor:
    """An executor made of functions; each has a default for when it is None."""

    name: str = "mock"
    capabilities: Capabilities = _CAPABILITIES
    spawn_function: CallFunction | None = None
    resume_function: CallFunction | None = None
    validate_function: Callable[[], None] | None = None
    calls: list[tuple[str, AgentCall]] = field(default_factory=list[tuple[str, AgentCall]])

    def validate_availability(self) -> None:
        """Available, unless the function raises."""
        if self.validate_function is not None:
            self.validate_function()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Record the call, then what the function returns or a success."""
        self.calls.append(("spawn", call))
        return await (self.spawn_function or _succeed)(call, on_event)

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Record the call, then what the function returns or a success."""
        self.calls.append(("resume", call))
        return await (self.resume_function or _succeed)(call, on_event)


@dataclass
class MockCommandRunner:
    """Starts nothing: feeds the sink its lines, returns its exit, and keeps every command."""

    lines: Iterable[bytes] = ()
    exit: Exit = _WELL
    run_function: Callable[[Command, Sink], Awaitable[Exit]] | None = None
    commands: list[Command] = field(default_factory=list[Command])

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Pretend to run the command."""
        self.commands.append(command)
        if self.run_function is not None:
            return await self.run_function(command, sink)
        for line in self.lines:
            sink(line)
        return self.exit

    @property
    def last(self) -> Command:
        """The command that was run last: argv, env, stdin, cwd."""
        return self.commands[-1]


async def _succeed(call: AgentCall, on_event: OnEvent) -> CallResult:
    del on_event
    text = "Done.\n\n<phase_complete>true</phase_complete>"
    return CallResult(None, text=text, session_id=call.session_id, model=call.model, exit_code=0)
