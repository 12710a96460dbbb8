"""What the layers above know of starting programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ostler.model.command import Command, Exit, Sink

Say = Callable[[bytes], None]
"""Gives a running program more input; never waits, and is dropped when the program no longer reads."""


class Conversation(Protocol):
    """Our side of a dialogue with a running program."""

    def begin(self, say: Say) -> None:
        """The program runs, and can be spoken to until `take` returns True."""
        ...

    def take(self, line: bytes) -> bool:
        """One line of its output; True when it has given its result: its input is closed then."""
        ...

    def part(self) -> None:
        """It is going to be stopped; this is the time for a last word."""
        ...


class CommandRunner(Protocol):
    """Runs one program to its end, and owns everything that it starts."""

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Start it, feed its lines to the sink, and return when nothing of it is alive.

        Raises SpawnError when the operating system refuses. Cancelling the caller stops the program and all
        that it started before CancelledError goes on.
        """
        ...

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """As run, for a program that is talked with: its input stays open until it has given its result."""
        ...
