"""Standard input that stays open, for a program that is talked with."""

from __future__ import annotations

import asyncio
import os

from ostler.errors import Code, OstlerError

LIMIT_BYTES = 64 * 1024 * 1024


class Input:
    """Takes bytes without ever waiting; what the pipe has no room for follows as the program reads."""

    def __init__(self, descriptor: int, limit_bytes: int = LIMIT_BYTES) -> None:
        self._descriptor = descriptor
        self._limit = limit_bytes
        self._rest = bytearray()
        self._ending = False
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Send it. Dropped when the program no longer listens; OstlerError when far too much waits for it."""
        if self._descriptor < 0 or self._ending:
            return
        if len(self._rest) + len(data) > self._limit:
            raise OstlerError(
                Code.AGENT_FAILED,
                f"the program does not read its input: {len(self._rest)} bytes wait for it",
                "see its transcript for what it did instead",
            )
        self._rest += data
        self._flush()

    def end(self) -> None:
        """Close the input when all was sent."""
        self._ending = True
        self._flush()

    def close(self) -> None:
        """Close it now; may be repeated."""
        if self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._rest.clear()

    def _flush(self) -> None:
        try:
            while self._rest and self._descriptor >= 0:
                del self._rest[: os.write(self._descriptor, self._rest)]
        except BlockingIOError:
            self._loop.add_writer(self._descriptor, self._flush)
            return
        except OSError:
            self.close()  # it reads no more, which is its right
            return
        self._settle()

    def _settle(self) -> None:
        if self._ending:
            self.close()
        elif self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
