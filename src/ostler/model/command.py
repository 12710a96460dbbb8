"""A program to start, and how it ended: what crosses the process edge."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

Sink = Callable[[bytes], bool]
"""Takes one line of output, without its newline; True says that the agent has given its result."""


class Stopped(StrEnum):
    """Why we ended a program that had not ended by itself."""

    TIMEOUT = "timeout"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"  # it waits for a person
    AFTER_RESULT = "after_result"  # it gave its result and then did not exit
    MEMORY = "memory"  # it took more than Command.memory_mb


class Silence(Struct, frozen=True):
    """What is known of a program that says nothing."""

    pid: int  # above everything that it started
    cwd: str
    seconds: float  # since its last output
    stdout_tail: str
    stderr_tail: str


class Patience(Struct, frozen=True):
    """It may be silent for so much longer."""

    seconds: float


class StopNow(Struct, frozen=True):
    """It has to be stopped."""

    why: Stopped
    reason: str = ""  # what was seen, in a few words


class Vigil(Protocol):
    """Decides about a silent program, instead of the clock alone; the total timeout always holds."""

    first_look_seconds: float  # of silence, before it is asked

    async def look(self, silence: Silence) -> Patience | StopNow: ...


class Command(Struct, frozen=True):
    """One program, ready to start. The prompt is in stdin or in a file, never in argv."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]  # the whole environment; nothing is inherited
    stdin: bytes = b""
    transcript: str = (
        ""  # raw stdout is appended here, stderr to the same name plus .stderr; empty: kept nowhere
    )
    timeout_seconds: float = 3600.0
    idle_timeout_seconds: float = 600.0
    result_grace_seconds: float = 10.0  # after the result, this long without output to exit
    grace_seconds: float = 5.0  # between TERM and KILL
    nice: int = 0  # above our own
    memory_mb: int | None = None  # taken by it and all that it started; over this, they are stopped
    pty: bool = False
    dialogue: bool = False  # its input stays open; set by CommandRunner.converse
    vigil: Vigil | None = None  # None: silence as long as the idle timeout ends it


class Exit(Struct, frozen=True):
    """How a program ended. Nothing that it started is alive any more."""

    status: int  # 0..255, or minus the signal that ended it
    duration_seconds: float
    stopped: Stopped | None = None  # None: it ended by itself
    reason: str = ""  # what was seen before it was stopped
    stdout_bytes: int = 0
    long_lines: int = 0  # lines over the limit: whole in the transcript, not given to the sink
    stderr_tail: str = ""  # the last part of stderr, decoded with replacement
    leftovers: int = 0  # processes that outlived the main one and had to be stopped
    peak_memory_mb: int | None = None  # of it and all that it started together; None: unknown
    oom_killed: bool = False  # it died by KILL, and the kernel was killing for want of memory meanwhile
