"""The process manager of loopwork: a program that embeds Ostler can start the agents itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import Protocol

from msgspec import Struct

from ostler.awaiting import await_if_needed
from ostler.errors import Code, OstlerError
from ostler.model.command import Command, Exit, Sink, StopReason
from ostler.process.child import DRAIN_SECONDS, KILL_NOW
from ostler.process.protocol import Conversation
from ostler.process.transcript import Transcript

_TAIL_CHARACTERS = 8192
_PART_BYTES = 65_536
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
    """Runs commands with a process manager; at a timeout or a cancellation SIGTERM, then SIGKILL.

    An error of the process manager is a failed start: SPAWN_FAILED.
    """

    def __init__(self, manager: IProcessManager) -> None:
        self._manager = manager

    def find_program(self, command: str) -> str | None:
        """See ProgramFinder: the manager searches when it starts the program."""
        return command

    async def run(self, command: Command, sink: Sink) -> Exit:
        """See CommandRunner.run."""
        options = SpawnOptions(command.cwd, command.env, command.stdin, command.nice)
        with _report_errors(f"{command.argv[0]} could not be started"):
            made = await await_if_needed(self._manager.spawn(command.argv[0], command.argv[1:], options))
            if not callable(getattr(made, "wait", None)):
                raise TypeError(f"spawn returned {made!r:.80} instead of a process")
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
        self._has_result = False
        self._stopping = False
        self._stderr = ""
        self._bytes = 0

    async def finish(self) -> Exit:
        """Return the exit; a cancellation stops the process first."""
        loop, stopped = asyncio.get_running_loop(), None
        started = loop.time()
        exiting = asyncio.ensure_future(self._wait())
        reading = asyncio.ensure_future(self._read())
        try:
            async with asyncio.timeout(self._command.timeout_seconds) as self._limit:
                await asyncio.wait({exiting, reading}, return_when=asyncio.FIRST_COMPLETED)
                if not exiting.done():
                    await reading  # raises the error of a receiver
                status = await exiting
                # A process that the program left behind may hold its output open.
                await asyncio.wait({reading}, timeout=DRAIN_SECONDS)
                if reading.done():
                    await reading
        except TimeoutError:
            stopped = StopReason.AFTER_RESULT if self._has_result else StopReason.TIMEOUT
            status = await self._stop_even_if_cancelled(self._command.grace_seconds)
        except BaseException as error:  # a cancellation, or an error of a receiver or of the manager
            at_once = isinstance(error, asyncio.CancelledError) and KILL_NOW in error.args
            try:
                await self._stop_even_if_cancelled(0.0 if at_once else self._command.grace_seconds)
            except OstlerError as failed:
                error.add_note(failed.message)  # the first error counts: a cancellation is no failure
            raise
        finally:
            exiting.cancel()
            reading.cancel()
            await asyncio.wait({exiting, reading})
        seconds = loop.time() - started
        return Exit(status, seconds, stopped, stdout_bytes=self._bytes, stderr_tail=self._stderr)

    async def _read(self) -> None:
        await asyncio.gather(
            _read_lines(self._process.stdout, self._receive), _read_lines(self._process.stderr, self._note)
        )

    def _receive(self, line: bytes) -> None:
        self._bytes += len(line) + 1
        self._transcript.write(line + b"\n")
        self._has_result = self._sink(line) or self._has_result
        if self._has_result and not (self._stopping or self._limit.expired()):
            seconds = self._command.result_grace_seconds
            self._limit.reschedule(asyncio.get_running_loop().time() + seconds)

    def _note(self, line: bytes) -> None:
        text = f"{self._stderr}{line.decode('utf-8', 'replace')}\n"
        self._stderr = text[-_TAIL_CHARACTERS:]
        if self._command.on_error_line:
            self._command.on_error_line(line)

    async def _wait(self) -> int:
        with _report_errors("the exit of the program is not known"):
            status = await await_if_needed(self._process.wait())
            if not isinstance(status, int):
                raise TypeError(f"wait returned {status!r:.80} instead of an exit code")
            return status

    async def _stop_even_if_cancelled(self, grace_seconds: float) -> int:
        """Stop the process; a second cancellation kills it at once."""
        self._stopping = True
        while True:
            try:
                return await self._stop(grace_seconds)
            except asyncio.CancelledError:
                grace_seconds = 0.0

    async def _stop(self, grace_seconds: float) -> int:
        """Send SIGTERM, after the grace period SIGKILL; return the status."""
        for signal, seconds in (("SIGTERM", grace_seconds), ("SIGKILL", _KILL_SECONDS)):
            with (
                _report_errors("the program could not be stopped"),
                contextlib.suppress(ProcessLookupError),  # it has ended meanwhile
            ):
                await await_if_needed(self._manager.kill(self._process.pid, signal))
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._wait(), seconds)
        return _KILLED


@contextmanager
def _report_errors(what: str) -> Generator[None]:
    """Turn an error of the process manager, which is foreign code, into a failed start."""
    try:
        yield
    except OstlerError:
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise OstlerError(Code.SPAWN_FAILED, f"{what}: {reason}", "check the process manager") from error


async def _read_lines(stream: AsyncIterable[bytes] | None, receive: Callable[[bytes], None]) -> None:
    """Pass each line on; the parts of the stream may have any length."""
    rest = b""
    async for part in _read_parts(stream):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            receive(line)
    if rest:
        receive(rest)


async def _read_parts(stream: AsyncIterable[bytes] | None) -> AsyncGenerator[bytes]:
    with _report_errors("the output of the program could not be read"):
        if isinstance(stream, asyncio.StreamReader):
            # Its iterator raises ValueError at a line of more than 64 KiB.
            while part := await stream.read(_PART_BYTES):
                yield part
        elif stream is not None:
            async for part in stream:
                yield bytes(part)
