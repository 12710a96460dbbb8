"""Keeps the files of the tasks that run here as blobs: all of them before a record, and what grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from ostler.blobs.blobs import Blobs
from ostler.blobs.failure import BlobsUnavailable
from ostler.blobs.followed import FollowedTask, never
from ostler.blobs.names import name_files
from ostler.blobs.outage import Outage
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.waits import report_wait

WAIT_SECONDS = 30.0  # of a record for its files, while the store cannot be used
_PAUSE_SECONDS = 0.5
_CLOSE_SECONDS = 20.0


class Mirror:
    """The files of the tasks that this process runs; its methods can be called by any thread."""

    def __init__(
        self, blobs: Blobs, store_id: str, layout: Layout, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self.wait_seconds = wait_seconds
        self.outage = Outage()
        self.place = blobs.place
        self._blobs = blobs
        self._store_id = store_id
        self._layout = layout
        self._lock = Lock()  # of the tasks that run
        self._running: dict[TaskId, FollowedTask] = {}
        self._leaving: list[FollowedTask] = []

    def upload(self, task: TaskId, *, is_over: Callable[[], bool] = never, is_moved: bool = False) -> None:
        """Upload what changed in the task's directory, and follow it until `is_over`.

        The first upload of a run also downloads what other machines uploaded; if that fails, and the task
        comes from another machine (`is_moved`), it raises BlobsUnavailable. After any other failure it waits
        a while, once for each outage, and returns: the journal is the truth, so that a record is not lost
        because of its files, which are uploaded later.
        """
        followed = self._start(task)
        deadline = time.monotonic() + self.wait_seconds
        while (is_moved or not self.outage.is_given_up) and not is_over():
            try:
                followed.upload()
                break
            except BlobsUnavailable as error:
                self.outage.begin(error)
                if error.is_outage and time.monotonic() < deadline:
                    time.sleep(_PAUSE_SECONDS)
                    continue
                if is_moved and not followed.is_restored:
                    self._remove(task, followed)
                    raise
                self.outage.give_up(error)
                break
        with self._lock:
            # The run may have ended while this request had no answer; its next one compares the files again.
            if self._running.get(task) is followed:
                followed.follow(is_over)

    def is_following(self, task: TaskId) -> bool:
        followed = self._running.get(task)
        return followed is not None and not followed.is_left

    def leave(self, task: TaskId) -> None:
        """Upload the last changes in the background, and stop following the task."""
        followed = self._remove(task)
        if followed is not None:
            followed.leave()
            self._leaving = [one for one in (*self._leaving, followed) if not one.wait(0)]

    def drop(self, task: TaskId) -> None:
        """Stop following the task, without an upload: another machine may run it."""
        followed = self._remove(task)
        if followed is not None:
            followed.drop()

    def finish_earlier(self, may_upload: Callable[[TaskId], bool]) -> None:
        """Upload in the background what earlier processes on this machine left, which were killed."""
        for mark in self._layout.not_uploaded.glob("*"):
            task = TaskId(mark.name)
            if task not in self._running and may_upload(task):
                followed = self._create(task)
                followed.leave()
                followed.follow(never)
                self._leaving.append(followed)

    def close(self) -> None:
        """Upload the last changes; what takes too long is left to a later process."""
        for task, followed in [*self._running.items()]:
            if followed.is_over:  # another machine may have it
                self.drop(task)
            else:
                self.leave(task)
        # In an outage that was waited for already, the end of the process does not wait for it too.
        deadline = time.monotonic() + (1.0 if self.outage.is_given_up else _CLOSE_SECONDS)
        late = [one for one in self._leaving if not one.wait(deadline - time.monotonic())]
        for followed in late:
            followed.drop()
        if late:
            report_wait(f"the next run uploads the last files of {len(late)} tasks to {self.place}")

    def _start(self, task: TaskId) -> FollowedTask:
        with self._lock:
            if not self.is_following(task):  # one whose lease was over has ended by itself
                self._running[task] = self._create(task)
            return self._running[task]

    def _remove(self, task: TaskId, only: FollowedTask | None = None) -> FollowedTask | None:
        """Remove a task from those that run; with `only`, unless another run of it has begun."""
        with self._lock:
            if only is not None and self._running.get(task) is not only:
                return None
            return self._running.pop(task, None)

    def _create(self, task: TaskId) -> FollowedTask:
        prefix, folder = name_files(self._store_id, task), self._layout.task(task)
        mark = self._layout.not_uploaded / task
        return FollowedTask(self._blobs, prefix, folder, mark, self.outage)
