"""Raw bytes between two connections, until both directions ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ostler.sandbox.network.body import PIECE
from ostler.sandbox.network.peer import Peer

HALF_CLOSED_SECONDS = 60.0  # without a byte, after one side ended


class _Direction:
    """Copies from one peer to the other."""

    def __init__(self, source: Peer, target: Peer) -> None:
        self._source = source
        self._target = target
        self.copied = 0

    async def run(self) -> None:
        """Copy until the source ends; a connection that breaks ends like one that is closed."""
        with suppress(OSError):
            while piece := await self._source.reader.read(PIECE):
                await self._target.send(piece)
                self.copied += len(piece)
        with suppress(OSError, RuntimeError):  # the target is closed already
            self._target.writer.write_eof()


async def relay(one: Peer, other: Peer, half_closed_seconds: float = HALF_CLOSED_SECONDS) -> None:
    """Copy in both directions; when one has ended, the other ends after a time without a byte."""
    directions = {
        asyncio.create_task(way.run()): way for way in (_Direction(one, other), _Direction(other, one))
    }
    try:
        _, open_ones = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        while open_ones:
            copied = sum(way.copied for way in directions.values())
            _, open_ones = await asyncio.wait(open_ones, timeout=half_closed_seconds)
            if copied == sum(way.copied for way in directions.values()):
                return
    finally:
        for task in directions:
            task.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
