"""A program to run, and how it ended."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

Sink = Callable[[bytes], bool]
"""Receives one line of output without its newline; returns True once the agent gave its result."""

ErrorSink = Callable[[bytes], None]
"""Receives one line of the error output without its newline, while the program runs."""


class StopReason(StrEnum):
    """Why Ostler stopped a program."""

    TIMEOUT = "timeout"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"  # it waits for input
    AFTER_RESULT = "after_result"  # it gave its result but did not exit
    MEMORY = "memory"  # it used more than Command.memory_mb
    DISK = "disk"  # it wrote more than sandbox.max_disk_mb
    PROVIDER = "provider"  # it waits for its provider longer than the call may wait


class IdleTimeout(Struct, frozen=True):
    """A program that printed nothing for a while, and its last output."""

    pid: int  # ancestor of all its processes
    cwd: str
    seconds: float  # since its last output
    stdout_tail: str
    stderr_tail: str


class ExtendIdleTimeout(Struct, frozen=True):
    """Allow the program to stay idle for this much longer."""

    seconds: float


class StopNow(Struct, frozen=True):
    """Stop the program."""

    cause: StopReason
    reason: str = ""  # the observation behind it


class Supervision(Protocol):
    """Decides whether to stop a program; the total timeout applies in any case."""

    @property
    def first_check_seconds(self) -> float:
        """The idle time before the first check; it may change with the output."""
        ...

    def check_output(self) -> StopNow | None:
        """Called after each part of the output, when its lines were read; None: the program continues."""
        ...

    async def check_idle(self, idle: IdleTimeout) -> ExtendIdleTimeout | StopNow: ...


class Watch(Protocol):
    """Observes something that a program uses, such as disk space, while it runs."""

    async def wait_for_excess(self) -> StopNow:
        """Return when the program must be stopped; cancelled when it ended."""
        ...


class Launcher(Protocol):
    """Changes a command so that it starts in a sandbox."""

    def launch(self, command: Command) -> AbstractContextManager[Command]:
        """Return the command to start; what it needs is released when the program has ended."""
        ...


class Command(Struct, frozen=True):
    """A program to start. The prompt is in stdin or in a file, never in argv."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]  # complete; nothing is inherited
    stdin: bytes = b""
    # Raw stdout is appended to this file, stderr to the same name plus .stderr; empty: not kept.
    transcript: str = ""
    timeout_seconds: float = 3600.0
    idle_timeout_seconds: float = 600.0
    result_grace_seconds: float = 10.0  # time to exit after the result
    grace_seconds: float = 5.0  # between SIGTERM and SIGKILL
    nice: int = 0  # added to our own niceness
    memory_mb: int | None = None  # limit for all its processes; they are stopped above it
    pty: bool = False
    stdin_on_pty: bool = True  # with pty: stdin is the terminal too; false: a file, which many agents need
    keeps_stdin_open: bool = False  # set by CommandRunner.converse
    supervision: Supervision | None = None  # None: the idle timeout applies
    on_error_line: ErrorSink | None = None
    launcher: Launcher | None = None  # None: the program starts as it is
    watches: tuple[Watch, ...] = ()
    oom_counter: str = ""  # file that counts the kills in its own control group; empty: it is in ours
    passed: tuple[int, ...] = ()  # descriptors that the program gets as 3, 4, ...


TERMINAL_TYPE = "xterm-256color"  # TERM of a program on a pseudo-terminal
_SHELL_SIGNAL = 128  # a shell and bubblewrap exit with this and the number of the signal
_ENDINGS = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGABRT, signal.SIGBUS),
    *(signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM),
)
# Another program sends these; a program that crashes ends by others, such as SIGSEGV and SIGABRT.
_FROM_OUTSIDE = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)


class Exit(Struct, frozen=True):
    """How a program ended; none of its processes is alive."""

    status: int  # 0 to 255, or minus the signal number
    duration_seconds: float
    stopped: StopReason | None = None  # None: it exited by itself
    reason: str = ""  # why it was stopped
    stdout_bytes: int = 0
    long_lines: int = 0  # lines over the limit: in the transcript, not passed to the sink
    stderr_tail: str = ""  # end of stderr, decoded with replacement
    leftovers: int = 0  # processes that were still alive and were stopped
    peak_memory_mb: int | None = None  # of all its processes; None: unknown
    oom_killed: bool = False  # killed by SIGKILL while the kernel reported out of memory
    helper_problem: str = ""  # what was wrong with our keeper or forker, and what was done
    keeper_killed: bool = False  # by another program; the status of the program is unknown

    @property
    def signal(self) -> int:
        """The signal that ended the program, or a program that a shell or a sandbox ran; 0: none."""
        if self.status < 0:
            return -self.status
        number = self.status - _SHELL_SIGNAL
        return number if number in _ENDINGS else 0

    @property
    def was_killed(self) -> bool:
        """Whether something other than Ostler and the program itself ended it."""
        return self.stopped is None and self.signal in _FROM_OUTSIDE
