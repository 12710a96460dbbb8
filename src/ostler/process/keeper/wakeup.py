"""A descriptor that becomes readable when a child exits."""

from __future__ import annotations

import os
import signal


class Wakeup:
    """Readable when a child has exited since the last clear(); one per process."""

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


def install_wakeup_handler() -> None:
    """Install a SIGCHLD handler, without which set_wakeup_fd has no effect; call it once before the forks."""
    signal.signal(signal.SIGCHLD, _ignore_signal)


def _ignore_signal(_number: int, _frame: object) -> None:
    """Do nothing: the signal already made the descriptor readable."""
