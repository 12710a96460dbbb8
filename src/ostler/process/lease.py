"""The lease of a run: how long its programs may work on without a sign that the task is still its own.

A keeper kills its programs when the lease is over. It does not need this process for that, which may be
stopped, or cut off from the server that has given the task to another worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar

from ostler.process.keeper.boot_clock import read_boot_clock

LEASE_RATIO = 0.7
"""Part of the heartbeat timeout after which a run without an answer has to be gone.

The server gives the task to another worker after the whole timeout, counted from the last heartbeat that it
received, so the lease counts from the moment when that heartbeat was sent.
"""


class Lease:
    """Extended by each answered heartbeat. Once it is over it stays so. Can be used from any thread."""

    def __init__(self, heartbeat_seconds: float, clock: Callable[[], float] = read_boot_clock) -> None:
        self._seconds = heartbeat_seconds * LEASE_RATIO
        self._clock = clock
        self._until = clock() + self._seconds
        self._lock = threading.Lock()
        self._listeners: set[Callable[[float], None]] = set()

    def read_clock(self) -> float:
        return self._clock()

    @property
    def until(self) -> float:
        """When the lease is over, in seconds of its clock."""
        return self._until

    @property
    def is_over(self) -> bool:
        return self._clock() >= self._until

    def extend(self, sent_at: float) -> None:
        """Note that the heartbeat which was sent at this time has been answered."""
        with self._lock:
            if not self.is_over:
                self._set_until(max(self._until, sent_at + self._seconds))

    def end(self) -> None:
        """End the lease at once: keepers kill their programs."""
        with self._lock:
            self._set_until(0.0)

    def add(self, listener: Callable[[float], None]) -> None:
        """Call a function with the end of the lease, now and after each change, in any thread."""
        with self._lock:
            self._listeners.add(listener)
            listener(self._until)

    def remove(self, listener: Callable[[float], None]) -> None:
        """Do not call the function any more, also not in another thread that is about to."""
        with self._lock:
            self._listeners.discard(listener)

    def _set_until(self, until: float) -> None:
        self._until = until
        for listener in self._listeners:
            listener(until)


CURRENT_LEASE: ContextVar[Lease | None] = ContextVar("lease", default=None)
"""The lease of what is started in this context; None: there is none, as on a single machine."""
