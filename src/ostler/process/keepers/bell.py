"""A descriptor to poll for the end of a child."""

from __future__ import annotations

import os
import signal


class Bell:
    """Readable whenever a child has ended since it was last cleared; one per process."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._reader

    def clear(self) -> None:
        os.read(self._reader, 4096)

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self._reader)
        os.close(self._writer)


def hang_bell() -> None:
    """Once per program, before the forks: without a handler no signal would ring."""
    signal.signal(signal.SIGCHLD, _ring)


def _ring(_number: int, _frame: object) -> None:
    """Nothing to do: that the signal arrived has made the descriptor readable."""
