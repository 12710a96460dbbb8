"""The command runner of sow, and its test doubles: `run(name, args, stdin)`, which raises on a failure."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from ostler.awaiting import await_if_needed
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.command import Command, Exit, Sink
from ostler.process import protocol, runner
from ostler.process.protocol import Conversation
from ostler.prompt.role import Agent

Stdin = IO[bytes] | IO[str] | bytes | str | None
RunFunction = Callable[[str, list[str], Stdin], Awaitable[None] | None]
SpawnFunction = Callable[[Agent, str, str], Awaitable[object] | object]
ResumeFunction = Callable[[str, str], Awaitable[object] | object]
_NO_TIMEOUT = 10.0 * 365 * 24 * 3600  # the caller cancels


class CommandRunner(Protocol):
    """Runs a program; raises when it fails. Cancelling it stops the program."""

    async def run(self, name: str, args: Sequence[str], stdin: Stdin = None) -> None: ...


class DefaultCommandRunner:
    """Starts a real program in this directory, with its output on the terminal."""

    async def run(self, name: str, args: Sequence[str], stdin: Stdin = None) -> None:
        """Run a program until none of its processes is alive; raises OstlerError for a non-zero exit."""
        command = Command(
            argv=(name, *args),
            cwd=str(Path.cwd()),
            env=dict(os.environ),
            stdin=read_stdin(stdin),
            timeout_seconds=_NO_TIMEOUT,
            idle_timeout_seconds=_NO_TIMEOUT,
            on_error_line=_print_error,
        )
        exit = await runner.DefaultCommandRunner().run(command, lambda line: _print(sys.stdout, line))
        if exit.status != 0:
            raise OstlerError(Code.AGENT_FAILED, f"{name} exited with status {exit.status}")


@dataclass
class MockCommandRunner:
    """Starts nothing: calls a function, if there is one, and keeps the last call."""

    run_func: RunFunction | None = None
    last_name: str = ""
    last_args: list[str] = field(default_factory=list[str])
    last_stdin: str = ""

    async def run(self, name: str, args: Sequence[str], stdin: Stdin = None) -> None:
        content = read_stdin(stdin)
        self.last_name, self.last_args = name, list(args)
        self.last_stdin = content.decode("utf-8", "replace")
        if self.run_func is not None:
            await await_if_needed(self.run_func(name, list(args), io.BytesIO(content)))


@dataclass
class MockExecutor:
    """An executor made of functions; without them it has no name, does nothing and cannot resume."""

    name_func: Callable[[], str] | None = None
    spawn_func: SpawnFunction | None = None
    resume_func: ResumeFunction | None = None
    supports_resumption_func: Callable[[], bool] | None = None

    def name(self) -> str:
        return self.name_func() if self.name_func else ""

    async def spawn(self, agent: Agent, prompt: str, session_id: str) -> object:
        return await await_if_needed(self.spawn_func(agent, prompt, session_id)) if self.spawn_func else None

    async def resume(self, session_id: str, prompt: str) -> object:
        return await await_if_needed(self.resume_func(session_id, prompt)) if self.resume_func else None

    def supports_resumption(self) -> bool:
        return self.supports_resumption_func() if self.supports_resumption_func else False


class RunnerAdapter:
    """Lets an executor of Ostler use a runner of sow, which reports only whether the program failed."""

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner
        self.error: Exception | None = None  # of the last run
        self.succeeded = False  # the last run

    def find_program(self, command: str) -> str | None:
        """See ProgramFinder: the runner searches when it runs the program."""
        return command

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Run the command; an exception of the runner is a failed exit."""
        started, name, args = time.monotonic(), command.argv[0], list(command.argv[1:])
        self.error, self.succeeded = None, False
        try:
            await await_if_needed(self._runner.run(name, args, io.BytesIO(command.stdin)))
        except Exception as error:  # noqa: BLE001  (foreign code)
            self.error = error
            return Exit(1, time.monotonic() - started, stderr_tail=str(error))
        self.succeeded = True
        return Exit(0, time.monotonic() - started)

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """Run the command without a dialogue, which no agent of sow holds."""
        return await self.run(command, conversation.receive_line)


def adapt_runner(given: CommandRunner | protocol.CommandRunner | None) -> protocol.CommandRunner:
    """Return a runner of Ostler: a runner of sow is wrapped, its default one is replaced."""
    if given is None or type(given) is DefaultCommandRunner:  # a subclass has a method run of its own
        return runner.DefaultCommandRunner()
    if not callable(getattr(given, "run", None)):
        raise UsageError(f"runner: expected an object with a method run, got {given!r}")
    return given if hasattr(given, "converse") else RunnerAdapter(given)  # pyright: ignore[reportReturnType, reportArgumentType]


def read_stdin(stdin: Stdin) -> bytes:
    """Return the whole input as bytes."""
    if not isinstance(stdin, bytes | str | None) and not callable(getattr(stdin, "read", None)):
        raise UsageError(f"stdin: expected a file, bytes, a text or None, got {stdin!r}")
    content = stdin if isinstance(stdin, bytes | str | None) else stdin.read()
    return content.encode() if isinstance(content, str) else content or b""


def _print_error(line: bytes) -> None:
    _print(sys.stderr, line)


def _print(stream: IO[str], line: bytes) -> bool:
    stream.write(f"{line.decode('utf-8', 'replace')}\n")
    stream.flush()
    return False
