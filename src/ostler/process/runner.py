"""The default CommandRunner."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from msgspec.structs import replace

from ostler.model.command import Command, Exit, Sink
from ostler.process.child import Child
from ostler.process.protocol import Conversation
from ostler.process.spawn_failure import check_arguments
from ostler.process.spawner import Spawner, StandardSpawner, create_spawner
from ostler.process.transcript import Transcript


class DefaultCommandRunner:
    """Starts programs with `spawner`; `held` descriptors stay open while one of their processes is alive."""

    def __init__(self, spawner: Spawner | None = None, held: Sequence[int] = ()) -> None:
        self._spawner = spawner or create_spawner(prefer_pty=False)
        self._held = tuple(held)

    async def run(self, command: Command, sink: Sink) -> Exit:
        """See CommandRunner.run."""
        return await self._run(command, sink, None)

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        """See CommandRunner.converse."""
        dialogue_command = replace(command, keeps_stdin_open=True, pty=False)
        return await self._run(dialogue_command, conversation.receive_line, conversation)

    async def _run(self, command: Command, sink: Sink, conversation: Conversation | None) -> Exit:
        check_arguments(command)
        transcript = Transcript(command.transcript, joins_texts=True)
        transcript.open()
        try:
            with command.launcher.launch(command) if command.launcher else nullcontext(command) as started:
                child = await self._spawner_for(started).spawn(started, self._held)
                return await Child(child, started, sink, transcript, conversation).finish()
        finally:
            transcript.close()

    def _spawner_for(self, command: Command) -> Spawner:
        if command.keeps_stdin_open and not isinstance(self._spawner, StandardSpawner):
            return StandardSpawner()  # a dialogue needs pipes, not a terminal
        return create_spawner(prefer_pty=True) if command.pty else self._spawner
