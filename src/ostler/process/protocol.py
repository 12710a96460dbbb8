"""What the layers above know of starting programs."""

from __future__ import annotations

from typing import Protocol

from ostler.model.command import Command, Exit, Sink


class CommandRunner(Protocol):
    """Runs one program to its end, and owns everything that it starts."""

    async def run(self, command: Command, sink: Sink) -> Exit:
        """Start it, feed its lines to the sink, and return when nothing of it is alive.

        Raises SpawnError when the operating system refuses. Cancelling the caller stops the program and all
        that it started before CancelledError goes on.
        """
        ...
