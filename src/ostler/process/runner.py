"""Runs one program to its end: the CommandRunner that everything above uses."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.model.command import Command, Exit, Sink
from ostler.process.attempt import Attempt
from ostler.process.spawn_failure import check_arguments
from ostler.process.spawner import Spawner, create_spawner
from ostler.process.transcript import Transcript


class DefaultCommandRunner:
    """Starts programs by `spawner`, and has `held` descriptors kept open while anything of one is alive."""

    def __init__(self, spawner: Spawner | None = None, held: Sequence[int] = ()) -> None:
        self._spawner = spawner or create_spawner(prefer_pty=False)
        self._held = tuple(held)

    async def run(self, command: Command, sink: Sink) -> Exit:
        """See CommandRunner.run."""
        check_arguments(command)
        transcript = Transcript(command.transcript)
        transcript.open()
        try:
            spawner = create_spawner(prefer_pty=True) if command.pty else self._spawner
            child = await spawner.spawn(command, self._held)
            return await Attempt(child, command, sink, transcript).finish()
        finally:
            transcript.close()
