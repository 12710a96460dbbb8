"""One stream of a program's output, read in bounded chunks as the event loop finds it ready."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

CHUNK_BYTES = 256 * 1024


class Output:
    """Gives every chunk to `consume`; what that raises is given to `failed`, and reading goes on."""

    def __init__(
        self,
        descriptor: int | None,
        consume: Callable[[bytes], None],
        ended: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._descriptor = descriptor
        self._consume = consume
        self._ended = ended
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self.open = descriptor is not None
        if descriptor is not None:
            self._loop.add_reader(descriptor, self._read)

    def drain(self) -> None:
        """Take what is there now, without waiting for more."""
        while self.open and self._read():
            pass

    def close(self) -> None:
        """Stop reading."""
        if self.open and self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
        self.open = False

    def _read(self) -> bool:
        """Whether something came."""
        assert self._descriptor is not None
        try:
            chunk = os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""  # a terminal whose last user is gone says EIO
        if not chunk:
            self.close()
            self._ended()
            return False
        try:
            self._consume(chunk)
        except BaseException as error:  # noqa: BLE001  (a callback's error would only be logged: run() raises it)
            self._failed(error)
        return True
