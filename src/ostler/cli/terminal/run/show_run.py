"""Show a run in the terminal until it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ostler.cli.signals import StoppableRun
from ostler.cli.terminal.run.progress import Progress
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.project.project import Project
from ostler.views.feed import feed_json

if TYPE_CHECKING:
    from ostler.cli.terminal.run.stepper import Stepper

_BUSY_SECONDS, _IDLE_SECONDS = 0.1, 1.0
_QUIET_SECONDS = 2.0  # without a change, before it is checked whether a task runs


async def show_progress(
    ostler: StoppableRun,
    work: asyncio.Task[list[Outcome]],
    screen: AbstractContextManager[Progress],
    stepper: Stepper | None,
    after: int | None = None,
) -> list[Outcome]:
    """Show progress until the run ends; stop the run when progress cannot be shown any more.

    Events after the position `after` of the feed are shown, or those from now on.
    """
    after = ostler.project.journal.position() if after is None else after
    pace = _Pace(ostler.project)
    try:
        with screen as progress:
            while not work.done():
                await asyncio.wait({work}, timeout=pace.seconds)
                if stepper is None or not stepper.asking:
                    before, after = after, _show_feed(ostler.project, after, progress)
                    pace.note(is_changed=after != before)
                    progress.tick(time.time())
            if work.exception() is None:
                await ostler.flush()
            _show_feed(ostler.project, after, progress)
    finally:
        ostler.stop()
        await asyncio.gather(work, return_exceptions=True)
    return work.result()


def find_deferred(project: Project, task_ids: Collection[TaskId]) -> dict[str, float]:
    """Return the deferred tasks of a run, which for none has all, and when each is due."""
    rows = (row for row in project.journal.open_rows() if not task_ids or row.id in task_ids)
    return {row.id: row.resumes_at for row in rows if row.resumes_at and row.resumes_at > time.time()}


class _Pace:
    """The time between two reads of the feed: longer while no task runs."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._checked_at = time.monotonic()
        self.seconds = _BUSY_SECONDS

    def note(self, *, is_changed: bool) -> None:
        now = time.monotonic()
        if is_changed:
            self.seconds, self._checked_at = _BUSY_SECONDS, now
        elif self.seconds == _BUSY_SECONDS and now - self._checked_at >= _QUIET_SECONDS:
            self._checked_at = now
            self.seconds = _BUSY_SECONDS if self._project.journal.listing.running() else _IDLE_SECONDS


def _show_feed(project: Project, after: int, progress: Progress) -> int:
    while lines := project.feed(after, None):
        for line in lines:
            progress.handle(feed_json(line), line.at)
        after = lines[-1].position
    return after
