"""One task whose files are uploaded while it runs here."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ostler.blobs.blobs import Blobs
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.outage import Outage
from ostler.blobs.parallel import run_for_each, start_daemon
from ostler.blobs.uploader import TaskUploader
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_projection

_TICK_SECONDS = 0.5
_log = logging.getLogger(__name__)


def never() -> bool:
    """Return False."""
    return False


class FollowedTask:
    """Uploads the files of a task: when it is asked to, and in a thread what grows meanwhile."""

    def __init__(self, blobs: Blobs, prefix: str, folder: Path, mark: Path, outage: Outage) -> None:
        self._uploader = TaskUploader(blobs, prefix, folder)
        self._mark = mark  # a file that exists while the last changes may not be uploaded
        self._outage = outage
        self._lock = threading.Lock()  # of the uploads
        self._is_compared = False
        self._is_over = never
        self._left = threading.Event()
        self._dropped = threading.Event()
        self._thread: threading.Thread | None = None

    def upload(self) -> None:
        """Upload every change; at first, download what other machines uploaded. Raises BlobsUnavailable."""
        with self._lock:
            if not self._is_compared:
                self._uploader.compare(download=not self._left.is_set())
                self._is_compared = True
            run_for_each(self._uploader.upload, self._uploader.find_changed(time.monotonic()))
        self._outage.end()

    @property
    def is_restored(self) -> bool:
        """Whether all that other machines uploaded is here."""
        return self._is_compared

    @property
    def is_over(self) -> bool:
        """Whether another machine may have the task."""
        return self._is_over()

    @property
    def is_left(self) -> bool:
        """Whether the thread ends, or has ended."""
        return self._left.is_set()

    def follow(self, is_over: Callable[[], bool]) -> None:
        """Upload in a thread what grows, until the task is left, or another machine may have it."""
        self._is_over = is_over
        if self._thread is None:
            make_private_dir(self._mark.parent)
            write_projection(self._mark, b"")
            self._thread = start_daemon(self._run)

    def leave(self) -> None:
        """Let the thread upload the last changes, and end."""
        self._left.set()

    def drop(self) -> None:
        """Let the thread end without an upload: another machine may have the task."""
        self._dropped.set()
        self._left.set()

    def wait(self, seconds: float) -> bool:
        """Return whether everything is uploaded within this time."""
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        while not self._left.wait(_TICK_SECONDS):
            if self._is_over():
                self.drop()
            elif self._outage.may_try():
                self._upload_due()
        while not self._dropped.is_set() and not self._finish():
            self._dropped.wait(_TICK_SECONDS)
        with self._lock:
            self._uploader.close()

    def _upload_due(self) -> None:
        """Upload what has grown; a failure is tried again at the next tick."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            for name in self._uploader.find_changed(time.monotonic(), due=not self._outage.is_given_up):
                self._uploader.upload(name)
                self._outage.end()
        except BlobsUnavailable as error:
            self._outage.begin(error)
        except (OstlerError, OSError) as error:
            _log.warning("files are not uploaded: %s", error)
        finally:
            self._lock.release()

    def _finish(self) -> bool:
        """Upload the last changes; return False if that has to be tried again."""
        if not self._outage.may_try():
            return False
        try:
            self.upload()
            with self._lock:
                self._uploader.finish()
        except BlobsUnavailable as error:
            self._outage.begin(error)
            self._outage.give_up(error)
            return False
        except (OstlerError, OSError) as error:
            _log.warning("files are not uploaded: %s", error)
            return True
        self._mark.unlink(missing_ok=True)
        return True
