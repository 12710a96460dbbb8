"""A program to start, and how it ended: what crosses the process edge."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

Sink = Callable[[bytes], bool]
"""Takes one line of output, without its newline; True says that the agent has given its result."""


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
    nice: int = 0
    pty: bool = False
    dialogue: bool = False  # its input stays open; set by CommandRunner.converse


class Stopped(StrEnum):
    """Why we ended a program that had not ended by itself."""

    TIMEOUT = "timeout"
    IDLE = "idle"
    AFTER_RESULT = "after_result"  # it gave its result and then did not exit


class Exit(Struct, frozen=True):
    """How a program ended. Nothing that it started is alive any more."""

    status: int  # 0..255, or minus the signal that ended it
    duration_seconds: float
    stopped: Stopped | None = None  # None: it ended by itself
    stdout_bytes: int = 0
    long_lines: int = 0  # lines over the limit: whole in the transcript, not given to the sink
    stderr_tail: str = ""  # the last part of stderr, decoded with replacement
    leftovers: int = 0  # processes that outlived the main one and had to be stopped
