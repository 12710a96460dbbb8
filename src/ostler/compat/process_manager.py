"""The process manager of loopwork: a program that embeds Ostler can start the agents itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import closing
from typing import Protocol

from msgspec import Struct

from ostler.compat.sow_runners import settle
from ostler.errors import Code, OstlerError
from ostler.model.command import Command, Exit, Sink, StopReason
from ostler.process.protocol import Conversation
from ostler.process.transcript import Transcript

_TAIL_CHARACTERS = 8192
_KILL_SECONDS = 10.0  # for a process to be gone after SIGKILL
_KILLED = -9


class SpawnOptions(Struct, frozen=True):
    """How to start a program."""

    cwd: str
    env: dict[str, str]  # complete; nothing is inherited
    input: bytes = b""  # the prompt, for standard input
    nice: int = 0


class ISpawnedProcess(Protocol):
    """A started program; an `asyncio.subprocess.Process` is one."""

    @property
    def pid(self) -> int: ...

    @property
    def stdout(self) -> AsyncIterable[bytes] | None: ...

    @property
    def stderr(self) -> AsyncIterable[bytes] | None: ...

    async def wait(self) -> int:
        """Return the exit code, or minus the number of the signal."""
        ...


class IProcessManager(Protocol):
    """Starts and stops programs."""

    def spawn(
        self, command: str, args: Sequence[str], options: SpawnOptions
    ) -> ISpawnedProcess | Awaitable[ISpawnedProcess]: ...

    def kill(self, pid: int, signal: str) -> object:
        """Send SIGTERM or SIGKILL to the process."""
        ...


class ManagedRunner:
    """Runs commands with a process manager; at a timeout or a cancellation SIGTERM, then SIGKILL."""

    def __init__(self, manager: IProcessManager) -> None:
        self._manager = manager

    def find_program(self, command: str) -> str | None:
        """See ProgramFinder: the manager searches when it starts the program."""
        return command

    async def run(self, command: Command, sink: Sink) -> Exit:
        """See CommandRunner.run."""
        options = SpawnOptions(command.cwd, command.env, command.stdin, command.nice)
        try:
            made = await settle(self._manager.spawn(command.argv[0], command.argv[1:], options))
        except OSError as error:
            message = f"{command.argv[0]} could not be started: {error}"
            raise OstlerError(Code.SPAWN_FAILED, message, "check the process manager") from error
        with closing(Transcript(command.transcript, joins_texts=True)) as transcript:
            transcript.open()
            return await ManagedProcess(self._manager, made, command, sink, transcript).finish()  # pyright: ignore[reportArgumentType]

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """Refuse: a process manager starts a program with its whole input."""
        message = f"{command.argv[0]} needs a dialogue, which a process manager does not offer"
        raise OstlerError(Code.AGENT_INCOMPATIBLE, message, "use an executor other than ACP")


class ManagedProcess:
    """One process of a manager, until it has ended."""

    def __init__(
        self,
        manager: IProcessManager,
        process: ISpawnedProcess,
        command: Command,
        sink: Sink,
        transcript: Transcript,
    ) -> None:
        self._manager, self._process, self._command = manager, process, command
        self._sink, self._transcript = sink, transcript
        self._stopped = StopReason.TIMEOUT
        self._stderr = ""
        self._bytes = 0

    async def finish(self) -> Exit:
        """Return the exit; a cancellation stops the process first."""
        loop, stopped = asyncio.get_running_loop(), None
        started = loop.time()
        reading = asyncio.gather(
            _read_lines(self._process.stdout, self._receive), _read_lines(self._process.stderr, self._note)
        )
        try:
            async with asyncio.timeout(self._command.timeout_seconds) as self._limit:
                status, _ = await asyncio.gather(self._process.wait(), asyncio.shield(reading))
        except TimeoutError:
            status, stopped = await self._stop(), self._stopped
        except BaseException:  # a cancellation, or an error of the receiver of the output
            await asyncio.shield(self._stop())
            raise
        finally:
            reading.cancel()
        seconds = loop.time() - started
        return Exit(status, seconds, stopped, stdout_bytes=self._bytes, stderr_tail=self._stderr)

    def _receive(self, line: bytes) -> None:
        self._bytes += len(line) + 1
        self._transcript.write(line + b"\n")
        if self._sink(line):
            self._stopped = StopReason.AFTER_RESULT
            self._limit.reschedule(asyncio.get_running_loop().time() + self._command.result_grace_seconds)

    def _note(self, line: bytes) -> None:
        text = f"{self._stderr}{line.decode('utf-8', 'replace')}\n"
        self._stderr = text[-_TAIL_CHARACTERS:]
        if self._command.on_error_line:
            self._command.on_error_line(line)

    async def _stop(self) -> int:
        """Send SIGTERM, after the grace period SIGKILL; return the status."""
        for signal, seconds in (("SIGTERM", self._command.grace_seconds), ("SIGKILL", _KILL_SECONDS)):
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                await settle(self._manager.kill(self._process.pid, signal))
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._process.wait(), seconds)
        return _KILLED


async def _read_lines(stream: AsyncIterable[bytes] | None, receive: Callable[[bytes], None]) -> None:
    """Pass each line on; the parts of the stream may have any length."""
    rest = b""
    if stream is None:
        return
    async for part in stream:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            receive(line)
    if rest:
        receive(rest)
