"""The local driver: runs tasks with asyncio and one SQLite file, without a server.

The run that holds a task's file lock owns the task, so there are no leases: when a run dies, the kernel
releases the lock once the last keeper of its attempts has exited, and the next run resumes from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from ostler.calls.models.availability import Unavailable
from ostler.calls.models.circuits import OUTAGE_CODES
from ostler.engine.board import has_pipeline_slot, look_at
from ostler.engine.board_reader import is_startable, read_board
from ostler.engine.board_writer import block_successors, cancel_tasks, settle_board
from ostler.engine.failure_streak import FailureStreak
from ostler.engine.journal_watch import watch_journal
from ostler.engine.pipeline_slots import LockedTasks, try_lock_task
from ostler.engine.provider_holds import find_hold
from ostler.engine.steps.services import StepServices
from ostler.engine.task_queue import is_runnable
from ostler.engine.task_runner import Fenced, TaskRunner
from ostler.errors import OstlerError, needs_account_fix
from ostler.files.lock import LockHandle
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus

POLL_SECONDS = 0.1
REFRESH_SECONDS = 1.0  # delay until a new task of high priority is noticed
_FULL_POLL_SECONDS = 1.0  # how soon a larger number of jobs applies while all jobs are used
_DEFERRED_POLL_SECONDS = 0.5  # how often a run that waits for a limit reads the task list
_BOARD_AGE_RATIO = 10  # an idle run reads the list for at most a tenth of its time


class TaskSelection(msgspec.Struct, frozen=True):
    """The tasks of a run."""

    ids: tuple[TaskId, ...] = ()  # empty: every runnable task

    def includes(self, row: TaskRow) -> bool:
        return not self.ids or row.id in self.ids


class LocalDriver:
    """Runs tasks in parallel until none is runnable, or until it is stopped."""

    def __init__(
        self,
        services: StepServices,
        jobs: int | Callable[[], int],  # a function is asked before each start of a task
        *,
        wait_for_deferred: bool = False,
        fail_fast: bool = False,
        skip_locked: bool = False,
        wait_for_outage: bool = True,
    ) -> None:
        self._services = services
        self._read_jobs = jobs if callable(jobs) else lambda: jobs
        self._wait_for_deferred = wait_for_deferred  # run deferred tasks when they are due
        self._wait_for_outage = wait_for_outage  # run a task again when its provider is soon probed
        self._streak = FailureStreak()
        self._fail_fast = fail_fast  # start no further task after a failure
        self._skip_locked = skip_locked  # do not wait for tasks of other runs
        self._runners: dict[TaskId, TaskRunner] = {}
        self._running: dict[asyncio.Task[State], TaskId] = {}
        self._finished: dict[TaskId, State] = {}
        self._queue: deque[TaskId] = deque()
        self._members: dict[TaskId, TaskRow] = {}  # the tasks of pipelines
        self._held: dict[TaskId, Unavailable] = {}  # ready tasks whose provider may not be called
        self._locked: list[TaskId] = []  # queued tasks that another run has locked
        self._locked_report = LockedTasks(services)
        self._seen = services.journal.position()  # of the last record that the runners were woken for
        self._read_at = 0.0
        self._board_max_age = 0.0  # for an empty queue
        self._task_ended = False  # since the list was read
        self._failed_fast = False
        self._stopping = False
        self._journal_error: OstlerError | None = None

    def stop(self) -> None:
        """Start no further task and stop the running ones; the next run resumes them."""
        self._stopping = True
        for runner in self._runners.values():
            runner.stop()

    @property
    def stop_reason(self) -> str:
        """Why no further task is started, because of failures of different tasks; empty: none."""
        return self._streak.reason

    @property
    def not_started(self) -> dict[TaskId, Unavailable | None]:
        """The ready tasks that this run did not start: because of a provider, or after failures (None)."""
        left = self._queue if self._failed_fast or self._streak.reason else ()
        return {task: hold for task, hold in self._held.items() if task not in self._finished} | {
            task: None for task in left if task not in self._finished
        }

    def wake_runners(self) -> None:
        """Let the runners with new records read them; the watcher does not see writes of this process."""
        journal = self._services.journal
        recorded = journal.recorded_tasks(self._seen)
        try:
            if recorded.tasks:
                block_successors(self._runners, self._services)
        finally:
            # Read again: each successor that was blocked has a new record too.
            for task in journal.recorded_tasks(self._seen).tasks & self._runners.keys():
                self._runners[task].wake()
        # The next call looks at what was recorded meanwhile: it may block further successors.
        self._seen = recorded.position

    async def run(self, selection: TaskSelection) -> list[Outcome]:
        """Run the tasks and return an outcome for each of them."""
        watcher = asyncio.create_task(self._watch_journal())
        try:
            await self._run_tasks(selection)
        finally:
            watcher.cancel()
            await self._stop_all()
        if self._journal_error is not None:
            raise self._journal_error
        return [_build_outcome(state) for state in self._finished.values()]

    async def _run_tasks(self, selection: TaskSelection) -> None:
        while True:
            starts = not self._stopping and not self._failed_fast and not self._streak.reason
            if starts:
                await self._start_runnable(selection)
            if self._running or (self._locked and starts and not self._skip_locked):
                await self._wait_for_next()
            elif not starts or not self._has_deferred_task(selection):
                return
            else:
                await self._services.clock.sleep(_DEFERRED_POLL_SECONDS)

    def _has_deferred_task(self, selection: TaskSelection) -> bool:
        """Return whether to wait: a task of this run waits until a limit or an outage ends."""
        if self._wait_for_deferred and any(hold.reason == "held" for hold in self._held.values()):
            return True
        board = self._services.journal.open_rows()
        deferred = [row for row in board if selection.includes(row) and row.status == TaskStatus.DEFERRED]
        return any(self._wait_for_deferred or self._waits_for_outage(row) for row in deferred)

    def _waits_for_outage(self, row: TaskRow) -> bool:
        """Return whether the provider of a task of this run is probed so soon that the run waits for it."""
        if not self._wait_for_outage or row.id not in self._finished:
            return False
        state, longest = decode_state(row), self._services.settings.retry.max_delay_seconds
        if state.code not in OUTAGE_CODES or state.resumes_at is None:
            return False
        hold = self._services.find_hold(state)
        due = max(state.resumes_at, (hold.until if hold else None) or 0.0)
        return due <= self._services.clock.now() + longest

    async def _start_runnable(self, selection: TaskSelection) -> None:
        """Start runnable tasks while there is a free job."""
        now = self._services.clock.now()
        await self._read_board(selection, now)
        while self._queue and len(self._running) < self._read_jobs() and not self._stopping:
            task = self._queue.popleft()
            row = self._services.journal.row(task)
            if row is None:  # a person removed it
                continue
            if (hold := find_hold(decode_state(row), self._services)) is not None:
                self._held[task] = hold
                continue
            self._held.pop(task, None)
            if not has_pipeline_slot(task, self._members, self._runners):
                # It is queued again when another task of its pipeline has ended.
                continue
            lock = try_lock_task(row, self._services)
            if lock is None:
                self._locked.append(task)
            elif is_startable(self._services.journal, task, now):  # another run may have finished it
                self._start(task, lock)
                await asyncio.sleep(0)  # what else can run does not wait until all tasks are started
            else:
                lock.release()

    async def _read_board(self, selection: TaskSelection, now: float) -> None:
        """Read the task list again if it is outdated, and queue the runnable tasks."""
        if self._is_board_fresh(now):
            return
        started = self._services.clock.monotonic()
        self._read_at, self._task_ended = now, False
        journal = self._services.journal
        board = read_board(journal, journal.open_rows(), selection.includes)
        settled = await settle_board(
            board, lambda board: look_at(board, now, self._runners, self._has_finished), self._services
        )
        board, orders = settled.board, settled.orders
        cancel_tasks(orders, self._services)
        for task, _ in orders.cancel:
            # The watcher does not see writes of its own connection.
            self._runners[task].wake()
        blocked = (state for state in settled.changed if state.status is TaskStatus.BLOCKED)
        self._finished |= {state.task: state for state in blocked}
        self._members = {row.id: row for row in board.rows if row.pipeline}
        self._held.clear()
        self._queue, self._locked = deque(orders.start), []
        self._board_max_age = min(
            _DEFERRED_POLL_SECONDS, _BOARD_AGE_RATIO * (self._services.clock.monotonic() - started)
        )

    def _is_board_fresh(self, now: float) -> bool:
        """Return whether the list is recent enough: reading thousands of tasks takes long."""
        age = abs(now - self._read_at)
        if self._queue:
            return age < REFRESH_SECONDS
        return not self._task_ended and age < self._board_max_age

    def _has_finished(self, row: TaskRow) -> bool:
        """Return whether this run has finished the task, and it was neither reopened nor is due again."""
        done = self._finished.get(row.id)
        if done is None or done.seq < row.seq:
            return False
        if needs_account_fix(done.code):
            # It starts again when its provider may be called or probed.
            return False
        waits = row.status == TaskStatus.DEFERRED and (self._wait_for_deferred or self._waits_for_outage(row))
        return not (waits and is_runnable(row, self._services.clock.now()))

    def _start(self, task: TaskId, lock: LockHandle) -> None:
        runner = TaskRunner(task, lock, self._services)
        self._runners[task] = runner
        self._running[asyncio.create_task(runner.run())] = task

    async def _wait_for_next(self) -> None:
        self._locked_report.check(self._locked, waits=not self._running)
        if not self._running:
            await self._services.clock.sleep(POLL_SECONDS)
            return
        # With a free job, a task that another run releases should start soon.
        timeout = POLL_SECONDS if len(self._running) < self._read_jobs() else _FULL_POLL_SECONDS
        done, _ = await asyncio.wait(self._running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for finished in done:
            self._collect(finished)

    def _collect(self, finished: asyncio.Task[State]) -> None:
        task = self._running.pop(finished)
        self._runners.pop(task)
        try:
            self._finished[task] = finished.result()
        except Fenced:
            row = self._services.journal.row(task)
            if row is None:  # a person removed it
                return
            self._finished[task] = decode_state(row)
        self._task_ended = True
        self._streak.add(self._finished[task], self._services.refresh().settings.run.stop_after_failures)
        failed = self._finished[task].status in (TaskStatus.FAILED, TaskStatus.QUARANTINED)
        self._failed_fast |= self._fail_fast and failed
        if failed and self._finished[task].pipeline is not None:
            # Its failure may stop the pipeline, which is decided when the list is read again.
            self._queue.clear()

    async def _stop_all(self) -> None:
        """After an error in one task: stop the others before the error is raised."""
        self.stop()
        if self._running:
            await asyncio.wait(self._running)
            for work in self._running:
                # The first error is being raised; retrieve the others so that asyncio does not log them.
                work.exception()

    async def _watch_journal(self) -> None:
        """Wake the runners when another process has written to the journal."""
        services = self._services
        self._journal_error = await watch_journal(
            services.journal, POLL_SECONDS, self.wake_runners, services.clock.sleep
        )
        self.stop()


def _build_outcome(state: State) -> Outcome:
    return Outcome(
        task_id=state.task,
        status=state.status,
        code=state.code,
        message=state.message,
        warnings=state.warnings,
        resumes_at=state.resumes_at,
    )
