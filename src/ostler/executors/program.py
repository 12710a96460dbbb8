"""An agent program, run: found, started with the prompt on stdin, heard and judged; its session kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.ending import command_for, result_of
from ostler.executors.health import probe
from ostler.executors.known import KnownProgram
from ostler.executors.opening import opening
from ostler.executors.paper import paper_for
from ostler.executors.protocol import Capabilities, supports_resumption
from ostler.executors.verdict import Listener, Manner
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    OnEvent,
    Permissions,
    SessionReplaced,
    SessionStarted,
    Warned,
)
from ostler.model.command import Command, Exit
from ostler.model.usage import Usage
from ostler.process.protocol import CommandRunner


class Hears(Protocol):
    """Listens to one run and judges it."""

    def take(self, line: bytes) -> bool: ...

    def judge(self, exit: Exit) -> CallResult: ...


Listen = Callable[[AgentCall, OnEvent], Hears]
Mend = Callable[[Mapping[str, str], str], str]
"""Repairs what the last words of a failed run show to be broken, in its environment; a sentence if it did."""


class Start(Struct, frozen=True):
    """What the arguments are made of. An empty session_id: the agent chooses its own."""

    session_id: str
    resume: bool
    model: str
    permissions: Permissions
    schema: str = ""  # that the final text must have; only for those that claim structured_output


class Defaults(Struct, frozen=True):
    """Settings of ours that the agent reads from a file, below all that a person has set."""

    variable: str  # names the file
    content: bytes


class Dialect(Struct, frozen=True):
    """What is particular about one agent program."""

    known: KnownProgram
    capabilities: Capabilities
    arguments: Callable[[Start], tuple[str, ...]]  # never the prompt
    listen: Listen | None = None  # None: it is talked with, which is the executor's own affair
    switches: dict[str, str] = {}  # variables that keep it quiet; the call's own and the settings' win
    permits: dict[Permissions, dict[str, str]] = {}  # variables that carry the permissions; the settings' win
    defaults: Defaults | None = None
    at_times: tuple[str, ...] = ()  # flags that only some calls have
    system_flag: str = ""  # names a file whose text is added to the system prompt; empty: it has none
    mend: Mend | None = None  # what it repairs is worth a second start


def listening(manner: Manner) -> Listen:
    """Listeners of this manner."""
    return partial(Listener, manner)


class ProgramExecutor:
    """Runs one agent program; stateless, so that any number of calls may share it."""

    dialect: Dialect

    def __init__(self, name: str, settings: ExecutorSettings, runner: CommandRunner) -> None:
        self.name = name
        self._settings = settings
        self._runner = runner

    @property
    def capabilities(self) -> Capabilities:
        return self.dialect.capabilities

    def validate_availability(self) -> None:
        """Raise AgentUnavailable when the program is nowhere."""
        self._program()

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Start a session; one that exists already, as after a crash, is resumed instead."""
        call = self._opening(call)
        result = await self._try(self._unnamed(call), on_event, resume=False)
        if result.code is not Code.SESSION_IN_USE:
            return result
        on_event(SessionReplaced(call.session_id, resumed=True))
        return _after(result, await self._try(call, on_event, resume=True))

    async def resume(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        """Continue a session; one that the agent does not know is begun again, and that is told."""
        if not supports_resumption(self):
            return CallResult(Code.RESUME_UNSUPPORTED, f"{self.name} does not find its sessions again")
        result = await self._try(call, on_event, resume=True)
        if result.code is not Code.SESSION_NOT_FOUND:
            return result
        fresh = replace(
            self._unnamed(call),
            prompt=call.fresh_prompt or call.prompt,
            session_cost_usd=0.0,
            session_usage=Usage(),
        )
        begun = await self._try(self._opening(fresh), self._telling_of_loss(call, on_event), resume=False)
        return _after(result, begun)

    async def _try(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        """One run; for a program that does not understand us, its version is part of the reason."""
        result = await self._run(call, on_event, resume=resume)
        if result.code is not Code.AGENT_INCOMPATIBLE:
            return result
        known = self.dialect.known
        path = known.find(command=self._settings.command, instance=self.name).path
        found = (await asyncio.to_thread(probe, path, call.env)).version or "no version"
        proved = f", proved with {known.proved}" if known.proved else ""
        return replace(result, message=f"{result.message} (found {found}{proved})")

    async def _run(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> CallResult:
        """One start, and one more where something of the program's own could be mended."""
        result, said = await self._once(call, on_event, resume=resume)
        if result.ok or self.dialect.mend is None:
            return result
        mended = await asyncio.to_thread(self.dialect.mend, self._environment(call), said)
        if not mended:
            return result
        on_event(Warned(f"{mended}; it is started once more"))
        again, _ = await self._once(call, on_event, resume=resume)
        return _after(result, again)

    async def _once(self, call: AgentCall, on_event: OnEvent, *, resume: bool) -> tuple[CallResult, str]:
        """The result of one start, and the last words of the program about it."""
        assert self.dialect.listen
        heard = self.dialect.listen(call, on_event)
        try:
            with self._defaults(call) as quiet, self._system(call) as system:
                command = self._command(quiet, stdin_of(call.prompt), system, resume=resume)
                exit = await self._runner.run(command, heard.take)
        except OstlerError as error:
            return result_of(error), ""
        result = heard.judge(exit)
        return result, last_words(exit, result)

    @contextmanager
    def _defaults(self, call: AgentCall) -> Generator[AgentCall, None, None]:
        """The call with our settings file in its environment; in a copy, as some agents rewrite theirs."""
        defaults = self.dialect.defaults
        if defaults is None or defaults.variable in call.env:
            yield call
            return
        with paper_for(call.transcript, "settings.json", defaults.content) as path:
            yield replace(call, env={**call.env, defaults.variable: path})

    def _opening(self, call: AgentCall) -> AgentCall:
        """The call as a session begins."""
        return call if self._system_flag() else opening(call)

    @contextmanager
    def _system(self, call: AgentCall) -> Generator[tuple[str, ...], None, None]:
        """The arguments that name a file with the system text; none where it stands in the prompt."""
        flag = self._system_flag()
        if not flag or not call.system.strip():
            yield ()
            return
        with paper_for(call.transcript, "system.md", call.system.encode("utf-8", "replace")) as path:
            yield (flag, path)

    def _system_flag(self) -> str:
        """Empty when there is none, or when the executor's own args have a text of that kind."""
        flag = self.dialect.system_flag
        given = {word.partition("=")[0] for word in self._settings.args}
        return "" if given & {flag, flag.removesuffix("-file")} else flag

    def _command(
        self, call: AgentCall, stdin: bytes = b"", first: tuple[str, ...] = (), *, resume: bool
    ) -> Command:
        argv = (self._program(), *first, *self.arguments(call, resume=resume))
        return command_for(call, argv, self._environment(call), stdin)

    def arguments(self, call: AgentCall, *, resume: bool) -> tuple[str, ...]:
        """What stands behind the program on the command line; never the prompt."""
        schema = call.schema if self.capabilities.structured_output else ""
        start = Start(call.session_id, resume, call.model, self._settings.permissions, schema)
        return (*self.dialect.arguments(start), *self._settings.args)

    def _environment(self, call: AgentCall) -> dict[str, str]:
        permits = self.dialect.permits.get(self._settings.permissions, {})
        return {**self.dialect.switches, **call.env, **permits, **self._settings.env}

    def _unnamed(self, call: AgentCall) -> AgentCall:
        """The call as a new session begins: an agent that chooses its own id is told none."""
        return call if self.capabilities.takes_our_id else replace(call, session_id="")

    def _telling_of_loss(self, call: AgentCall, on_event: OnEvent) -> OnEvent:
        """Say that the session was begun again: now, or as soon as the agent has named the new one."""
        if self.capabilities.takes_our_id:
            on_event(SessionReplaced(call.session_id, resumed=False))
            return on_event

        def tell(event: AgentEvent) -> None:
            on_event(event)
            if isinstance(event, SessionStarted):
                on_event(SessionReplaced(event.session_id, resumed=False))

        return tell

    def _program(self) -> str:
        return self.dialect.known.require(self._settings.command, self.name)


def last_words(exit: Exit, result: CallResult) -> str:
    """What a run says about its own end, and never what the agent wrote."""
    return f"{exit.stderr_tail}\n{result.message}"


def stdin_of(prompt: str) -> bytes:
    """The prompt as bytes; one that could be taken for a slash command begins with an empty line."""
    text = f"\n{prompt}" if prompt.startswith("/") else prompt
    return text.encode("utf-8", "replace")


def _after(first: CallResult, second: CallResult) -> CallResult:
    """The second run is the result; the time of the first belongs to it."""
    return replace(second, duration_seconds=first.duration_seconds + second.duration_seconds)
