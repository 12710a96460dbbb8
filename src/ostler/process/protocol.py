"""Interfaces for running programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ostler.model.command import Command, Exit, Sink

SendInput = Callable[[bytes], None]
"""Sends input to a running program without blocking; dropped when the program no longer reads."""


class Conversation(Protocol):
    """Our side of a dialogue with a running program."""

    def start(self, send: SendInput) -> None:
        """Called when the program runs; it accepts input until `receive_line` returns True."""
        ...

    def receive_line(self, line: bytes) -> bool:
        """Handle a line of output; return True when it is the result, which closes the input."""
        ...

    def prepare_stop(self) -> None:
        """Called before the program is stopped, to send a last message."""
        ...


@runtime_checkable
class ProgramFinder(Protocol):
    """A runner that finds programs itself: it starts them on another machine, or is a test double."""

    def find_program(self, command: str) -> str | None:
        """Return the program to start for a command, None when there is none."""
        ...


class CommandRunner(Protocol):
    """Runs a program and owns all processes that it starts.

    Programs are searched on this machine, unless the runner is a ProgramFinder.
    """

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Run the program, pass its lines to the sink, and return when none of its processes is alive.

        Raises SpawnError when it cannot be started. A cancellation stops the program and all its processes
        before CancelledError is raised.
        """
        ...

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """Run a program as a dialogue: its input stays open until it returned its result."""
        ...
