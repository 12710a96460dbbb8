"""One outage of the blob store: printed once, and waited for once."""

from __future__ import annotations

import threading
import time

from ostler.blobs.failure import BlobsUnavailable
from ostler.waits import report_wait

RETRY_SECONDS = 5.0


class Outage:
    """Can be used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._retry_at = 0.0
        self._error: BlobsUnavailable | None = None
        self._is_given_up = False

    @property
    def is_given_up(self) -> bool:
        """Whether records are written without their files, until the store can be used again."""
        return self._is_given_up

    def may_try(self) -> bool:
        """Return whether it is time for a request."""
        return self._error is None or time.monotonic() >= self._retry_at

    def begin(self, error: BlobsUnavailable) -> None:
        """Note that a request failed."""
        with self._lock:
            self._error = error
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def give_up(self, error: BlobsUnavailable) -> None:
        """Wait no more, and print that."""
        with self._lock:
            is_new, self._is_given_up, self._error = not self._is_given_up, True, error
        if is_new:
            after = "tasks go on, and their files are uploaded when it can be used again"
            report_wait(f"{error.message}; {after}  Next: {error.hint}")

    def end(self) -> None:
        """Note that a request succeeded."""
        if self._error is None:
            return
        with self._lock:
            was_given_up, self._is_given_up, self._error = self._is_given_up, False, None
        if was_given_up:
            report_wait("the blob store can be used again; files that were not uploaded follow")
