"""Wakes a process when another one has written to the file: the kernel reports changes of its directory."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path
from threading import Thread

_IN_MODIFY, _IN_CREATE, _IN_CLOEXEC, _IN_NONBLOCK = 0x2, 0x100, os.O_CLOEXEC, os.O_NONBLOCK
_BUFFER_BYTES = 64 * 1024


class FileListener:
    """Calls `wake` from its own thread after each write to a journal; nothing where that is not reported."""

    def __init__(self, file: Path, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._log = os.fsencode(f"{file.name}-wal")
        self._changes = _watch(file.parent)
        self._closing, self._close = os.pipe()
        self._thread: Thread | None = None
        if self._changes is not None:
            self._thread = Thread(target=self._listen, name="ostler-listen", daemon=True)
            self._thread.start()

    def close(self) -> None:
        os.close(self._close)
        if self._thread is not None:
            self._thread.join()
        if self._changes is not None:
            os.close(self._changes)
        os.close(self._closing)

    def _listen(self) -> None:
        assert self._changes is not None
        poll = select.poll()
        for descriptor in (self._changes, self._closing):
            poll.register(descriptor, select.POLLIN)
        self._wake()  # for what was written before; from now on nothing has to be polled often
        while all(descriptor != self._closing for descriptor, _ in poll.poll()):
            if self._log in os.read(self._changes, _BUFFER_BYTES):
                self._wake()


def _watch(directory: Path) -> int | None:
    """Return a descriptor that can be read after each change in the directory; None if there is none."""
    from ctypes import CDLL  # noqa: PLC0415  (only a worker needs it)

    library = CDLL(None, use_errno=True)
    if not hasattr(library, "inotify_init1"):
        return None
    descriptor = int(library.inotify_init1(_IN_CLOEXEC | _IN_NONBLOCK))
    if descriptor < 0:
        return None  # the user has too many
    if library.inotify_add_watch(descriptor, os.fsencode(directory), _IN_MODIFY | _IN_CREATE) < 0:
        os.close(descriptor)
        return None
    return descriptor
