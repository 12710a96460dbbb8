"""The worker: runs due tasks, starts scheduled ones, and waits for more until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ostler.clock import Clock, SystemClock
from ostler.engine.journal_watch import WakeUp
from ostler.engine.steps.project_fault import require_repository
from ostler.engine.task_queue import is_runnable, waits_for_dependency
from ostler.errors import OstlerError, needs_account_fix
from ostler.files.failpoint import reach
from ostler.model.attempt import TaskRow
from ostler.model.outcome import Outcome
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.project.ostler import Ostler
from ostler.project.preflight import find_ready_tasks
from ostler.project.running.review_timeouts import apply_review_timeouts
from ostler.project.running.schedules import Scheduler, add_scheduled_tasks

_POLL_SECONDS = 1.0
_LOOK_SECONDS = 0.1  # between two looks at the journal
_RETRY_SECONDS = 30.0  # delay after an agent was unusable, unless the journal changes
_FAILURE_SECONDS = 600.0  # delay after many tasks failed with one cause, unless the journal changes
_STACKED_SECONDS = 300.0  # between two requests to GitHub


class Worker:
    """The worker of one project; several can run on one machine."""

    def __init__(
        self, ostler: Ostler, print_message: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        self.project = ostler.project
        self._ostler = ostler
        self._print_message = print_message
        self._clock = clock or SystemClock()
        self.scheduler = Scheduler(self.project.layout.root, self._clock.now())
        self._print_skipped(self.scheduler.skipped)
        self._stopped = asyncio.Event()
        self._wake_up: WakeUp | None = None  # while it runs
        self._seen_position = -1  # position of the feed at the end of the last run
        self._reported: set[str] = set()  # messages that are printed already
        self._retry_at = 0.0
        self._errors = 0  # runs in a row that ended with an error
        self.refused: list[str] = []  # why due tasks were not started by the last run
        self._check_stacked_at = 0.0

    def stop(self) -> None:
        """Stop the active tasks in a resumable state; `run` then returns."""
        self._stopped.set()
        if self._wake_up is not None:
            self._wake_up.wake()
        self._ostler.stop()

    def problems(self) -> tuple[str, ...]:
        """Return why tasks wait for agents; thread-safe."""
        return tuple(sorted(self._reported.copy()))

    async def flush(self) -> None:
        """Wait until everything is written to the journal."""
        await self._ostler.flush()

    async def run_once(self) -> list[Outcome]:
        """Start the schedules of this minute and run due tasks, without waiting for more."""
        if self._stopped.is_set():
            return []
        self.start_due()
        return await self._run_due(wait=False)

    async def run(self) -> list[Outcome]:
        """Run until stopped."""
        self._ostler.start_integrations()
        wake_up = self._wake_up = WakeUp(self.project.store)
        scheduling = asyncio.create_task(self._run_scheduler())
        scheduling.add_done_callback(lambda _: self.stop())  # so that an error in it ends the worker
        try:
            while not self._stopped.is_set():
                # Read first, so that what is written meanwhile, or at the end of a run, is not missed.
                seen = self.project.journal.version()
                await self.check_stacked()
                if self._has_due_work():
                    await self._try_due()
                await self._wait(wake_up, seen)
        finally:
            scheduling.cancel()
            await asyncio.wait({scheduling})
            wake_up.close()
        if not scheduling.cancelled():
            scheduling.result()
        return []

    def start_due(self) -> None:
        """Add the tasks of due schedules, and decide about human gates that waited too long."""
        for message in apply_review_timeouts(self.project, self._clock.now()):
            self._print_message(message)
        self._print_skipped(self.scheduler.reload())
        for scheduled, at in self.scheduler.take_due(self._clock.now()):
            try:
                tasks = add_scheduled_tasks(self.project, scheduled, at)
            except OstlerError as error:
                self._print_message(f"{scheduled.name} could not start: {error.message}")
                continue
            reach("schedule.begun")
            if tasks:
                self._print_message(f"{scheduled.name}: {', '.join(tasks)}")

    def _print_skipped(self, mistakes: list[str]) -> None:
        for mistake in mistakes:
            self._print_message(f"skipped until it is fixed: {mistake}")

    async def _run_scheduler(self) -> None:
        while True:
            self.start_due()
            await self._clock.sleep(_POLL_SECONDS)

    async def check_stacked(self) -> None:
        """Ask GitHub from time to time whether a pull request below another one was merged."""
        if self._clock.monotonic() >= self._check_stacked_at:
            self._check_stacked_at = self._clock.monotonic() + _STACKED_SECONDS
            await self._ostler.publish_stacked_again()

    async def _try_due(self) -> None:
        """Run due tasks; when agents are missing, try again later."""
        try:
            if self._errors:
                # A task that is claimed and released again and again would fill the journal.
                await asyncio.to_thread(self._require_repository)
            await self._run_due(wait=True)
            self._errors = 0
        except OstlerError as error:
            if self._stopped.is_set():
                raise
            self._errors += 1
            self._print_once(f"{error.message}  Next: {error.hint}" if error.hint else error.message)
            self._seen_position = self.project.journal.position()
        self._retry_at = self._clock.monotonic() + self._find_delay()

    def _require_repository(self) -> None:
        require_repository(self.project.worktree_repository(), self.project.settings.git.branch_prefix)

    def _find_delay(self) -> float:
        """Return the seconds until the next run, unless the journal changes."""
        if self._errors:
            return min(_RETRY_SECONDS * 2.0 ** min(self._errors - 1, 9), _FAILURE_SECONDS)
        if self._ostler.stop_reason:
            return _FAILURE_SECONDS
        return _RETRY_SECONDS if self._reported else 0.0

    async def _run_due(self, *, wait: bool) -> list[Outcome]:
        found = find_ready_tasks(self.project)
        self.refused = found.refused
        if not found.refused:
            self._reported.clear()
        for sentence in found.refused:
            self._print_once(sentence)
        outcomes = await self._ostler.run_all(
            found.ready if found.refused else None,
            wait=wait and not found.refused,
            details=False,
            probe=not wait,
        )
        await self._ostler.flush()
        self._seen_position = self.project.journal.position()
        if self._ostler.stop_reason:
            self._print_once(self._ostler.stop_reason)
        return outcomes

    def _print_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._print_message(sentence)

    def _has_due_work(self) -> bool:
        """Return whether the journal changed since the last run, or a task became ready by time."""
        self.project.loaded  # noqa: B018  (reports a changed file)
        written = self.project.journal.position() != self._seen_position
        if not written and self._clock.monotonic() < self._retry_at:
            return False
        rows, now = self.project.journal.open_rows(), self._clock.now()
        if written and rows:
            return True
        due = [row for row in rows if is_runnable(row, now) and not self._is_held(row)]
        statuses = self.project.journal.statuses({one for row in due for one in row.after})
        return any(not waits_for_dependency(row, statuses) for row in due)

    def _is_held(self, row: TaskRow) -> bool:
        """Return whether a run could not start the task: because of its provider or of a full window."""
        state = decode_state(row)
        hold = self._ostler.find_hold(state)
        waits = needs_account_fix(state.code) or state.status is TaskStatus.DEFERRED
        return hold is not None and (waits or hold.reason == "held")

    async def _wait(self, wake_up: WakeUp, seen: int) -> None:
        """Wait until the journal has another version, as after an approval, but only for a moment."""
        until = self._clock.monotonic() + _POLL_SECONDS
        while self.project.journal.version() == seen:
            if self._stopped.is_set() or self._clock.monotonic() >= until:
                return
            await wake_up.sleep(_LOOK_SECONDS)  # longer where the store reports writes
