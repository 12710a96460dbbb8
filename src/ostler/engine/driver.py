"""The local driver: runs tasks with asyncio and one SQLite file, without a server.

The run that holds a task's file lock owns the task, so there are no leases: when a run dies, the kernel
releases the lock once the last keeper of its attempts has exited, and the next run resumes from the journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from itertools import groupby

import msgspec

from ostler.calls.models.availability import Unavailable
from ostler.calls.models.circuits import OUTAGE_CODES
from ostler.engine.core.evolve import evolve
from ostler.engine.dependencies import TaskStatuses, find_dependency_event, find_redone_predecessor
from ostler.engine.failure_streak import FailureStreak
from ostler.engine.pipeline import find_stop_reason
from ostler.engine.pipeline_slots import LockedTasks, try_lock_task
from ostler.engine.records import append_event
from ostler.engine.steps.services import StepServices
from ostler.engine.task_files import write_state_file
from ostler.engine.task_queue import choose_tasks, is_runnable, waits_for_dependency
from ostler.engine.task_runner import Fenced, TaskRunner
from ostler.errors import Code, OstlerError, needs_account_fix
from ostler.files.lock import LockHandle
from ostler.model.attempt import TaskRow
from ostler.model.event import DecisionRecorded, Event, Record, TaskBlocked
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.rows import build_row, decode_state
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.secrets.redact import redact_struct

_log = logging.getLogger(__name__)
POLL_SECONDS = 0.1
REFRESH_SECONDS = 1.0  # delay until a new task of high priority is noticed
_FULL_POLL_SECONDS = 1.0  # how soon a larger number of jobs applies while all jobs are used
_DEFERRED_POLL_SECONDS = 0.5  # how often a run that waits for a limit reads the task list
# A task in one of these stages calls its agent next.
_CALLING = (Stage.NEW, Stage.READY, Stage.ITERATED)
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
        self._pipeline_limits: dict[TaskId, tuple[str, int]] = {}  # pipeline run and its max_parallel
        self._held: dict[TaskId, Unavailable] = {}  # ready tasks whose provider may not be called
        self._locked: list[TaskId] = []  # queued tasks that another run has locked
        self._locked_report = LockedTasks(services)
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
        """Let the runners read the journal; the watcher does not see writes of this process."""
        try:
            self._block_successors()
        finally:
            for runner in self._runners.values():
                runner.wake()

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

    def _find_hold(self, task: TaskId) -> Unavailable | None:
        """Return why the task is not started: no model may be called, and it would only be deferred."""
        row = self._services.journal.row(task)
        state = decode_state(row) if row is not None else None
        if state is None or state.stage not in _CALLING:
            return None
        hold = self._services.find_hold(state)
        is_deferred = state.status is TaskStatus.DEFERRED
        is_held = hold and (needs_account_fix(hold.code) or is_deferred or hold.reason == "held")
        return hold if is_held else None

    async def _start_runnable(self, selection: TaskSelection) -> None:
        """Start runnable tasks while there is a free job."""
        now = self._services.clock.now()
        await self._read_board(selection, now)
        while self._queue and len(self._running) < self._read_jobs() and not self._stopping:
            task = self._queue.popleft()
            row = self._services.journal.row(task)
            if row is None:  # a person removed it
                continue
            if (hold := self._find_hold(task)) is not None:
                self._held[task] = hold
                continue
            self._held.pop(task, None)
            if not self._has_pipeline_slot(task):
                # It is queued again when another task of its pipeline has ended.
                continue
            lock = try_lock_task(row, self._services)
            if lock is None:
                self._locked.append(task)
            elif self._is_still_runnable(task, now):
                self._start(task, lock)
            else:
                lock.release()

    async def _read_board(self, selection: TaskSelection, now: float) -> None:
        """Read the task list again if it is outdated, and queue the runnable tasks."""
        if self._is_board_fresh(now):
            return
        started = self._services.clock.monotonic()
        self._read_at, self._task_ended = now, False
        rows = self._services.journal.open_rows()
        statuses = self._read_dependency_statuses(rows)
        board = await self._apply_dependencies([row for row in rows if selection.includes(row)], statuses)
        self._pipeline_limits = {row.id: (row.pipeline, row.max_parallel) for row in board if row.pipeline}
        taken = {row.id for row in board if row.id in self._runners or self._is_finished(row, now)}
        self._held.clear()
        self._queue, self._locked = deque(choose_tasks(board, taken, len(board), now, statuses)), []
        self._board_max_age = min(
            _DEFERRED_POLL_SECONDS, _BOARD_AGE_RATIO * (self._services.clock.monotonic() - started)
        )

    def _is_board_fresh(self, now: float) -> bool:
        """Return whether the list is recent enough: reading thousands of tasks takes long."""
        age = abs(now - self._read_at)
        if self._queue:
            return age < REFRESH_SECONDS
        return not self._task_ended and age < self._board_max_age

    def _read_dependency_statuses(self, rows: list[TaskRow]) -> TaskStatuses:
        """Return the status of each task that these depend on."""
        needed = {task for row in rows for task in row.after}
        listed = {row.id: row.status for row in rows if row.id in needed}
        return listed | self._services.journal.statuses(needed - listed.keys()) if needed else {}

    async def _apply_dependencies(self, board: list[TaskRow], statuses: TaskStatuses) -> list[TaskRow]:
        """Block and unblock tasks because of the tasks they depend on, and return the new rows."""
        stopped = self._find_stopped_pipelines(board)
        self._cancel_stopped(board, stopped)
        changed = await self._append_dependency_events(board, statuses, stopped)
        # A task whose predecessor has new commits is blocked and reopened, which prepares it again.
        changed |= await self._append_dependency_events(list(changed.values()), statuses, stopped)
        return [changed.get(row.id, row) for row in board]

    async def _append_dependency_events(
        self, rows: list[TaskRow], statuses: TaskStatuses, stopped: Mapping[str, str]
    ) -> dict[TaskId, TaskRow]:
        """Block and unblock these tasks, and return the changed ones."""
        reasons = {row.id: stopped.get(row.pipeline, "") or self._find_redone(row) for row in rows}
        events = [(row, find_dependency_event(row, statuses, reasons[row.id])) for row in rows]
        changes = [(row, event) for row, event in events if event is not None]
        written = await asyncio.gather(*(self._append(row, event) for row, event in changes))
        return {row.id: row for row in written}

    def _find_stopped_pipelines(self, board: list[TaskRow]) -> dict[str, str]:
        """Return the stopped pipeline runs, each with the reason."""
        runs = sorted({row.pipeline for row in board if row.pipeline})
        if not runs:
            return {}
        members = groupby(
            sorted(self._services.journal.pipeline_rows(runs), key=_pipeline_run), key=_pipeline_run
        )
        reasons = {run: find_stop_reason(rows) for run, rows in members}
        return {run: reason for run, reason in reasons.items() if reason}

    def _find_redone(self, row: TaskRow) -> str:
        """Return why a task has to wait for a task that it builds on; empty if it has not started."""
        if not row.after or row.seq == 1:
            return ""
        rows = (self._services.journal.row(task) for task in row.after)
        states = [decode_state(one) for one in rows if one is not None]
        return find_redone_predecessor(decode_state(row), {one.task: one for one in states})

    def _block_successors(self) -> None:
        """Stop running tasks that build on a task which was reopened; they keep their work."""
        for task in self._runners:
            row = self._services.journal.row(task)
            if row is not None and row.status == TaskStatus.IN_PROGRESS and (why := self._find_redone(row)):
                blocked = TaskBlocked(Code.DEPENDENCY_FAILED, why)
                append_event(self._services.journal, task, blocked, self._services.clock.now())

    def _cancel_stopped(self, board: list[TaskRow], stopped: Mapping[str, str]) -> None:
        """Cancel the running tasks of stopped pipelines."""
        for row in board:
            if row.pipeline in stopped and row.id in self._runners and not decode_state(row).cancel_requested:
                decision = DecisionRecorded("cancel", stopped[row.pipeline])
                append_event(self._services.journal, row.id, decision, self._services.clock.now())
                # The watcher does not see writes of its own connection.
                self._runners[row.id].wake()

    def _has_pipeline_slot(self, task: TaskId) -> bool:
        """Return whether this run may start one more task of the pipeline; locking counts other runs too."""
        pipeline, max_parallel = self._pipeline_limits.get(task, ("", 0))
        running = sum(self._pipeline_limits.get(other, ("", 0))[0] == pipeline for other in self._runners)
        return not pipeline or running < max_parallel

    async def _append(self, row: TaskRow, event: Event) -> TaskRow:
        """Append an event to a task that no run holds; if another process was faster, change nothing."""
        record = Record(row.id, row.seq + 1, self._services.clock.now(), redact_struct(event))
        after = evolve(decode_state(row), record)
        if not await self._services.writer.append(record, build_row(after)):
            return row
        write_state_file(after, self._services.layout)
        if after.status is TaskStatus.BLOCKED:
            self._finished[row.id] = after
        return build_row(after)

    def _is_finished(self, row: TaskRow, now: float) -> bool:
        """Return whether this run has finished the task, and it was neither reopened nor is due again."""
        done = self._finished.get(row.id)
        if done is None or done.seq < row.seq:
            return False
        if needs_account_fix(done.code):
            # It starts again when its provider may be called or probed.
            return False
        waits = row.status == TaskStatus.DEFERRED and (self._wait_for_deferred or self._waits_for_outage(row))
        return not (waits and is_runnable(row, now))

    def _is_still_runnable(self, task: TaskId, now: float) -> bool:
        """Check again under the lock: another run may have finished the task in the meantime."""
        row = self._services.journal.row(task)
        return (
            row is not None
            and is_runnable(row, now)
            and not waits_for_dependency(row, self._read_dependency_statuses([row]))
            and not self._find_redone(row)
        )

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
        handled, reported = -1, ""
        while True:
            try:
                seen = self._services.journal.version()
                if seen != handled:
                    self.wake_runners()
                # After an error the same version is handled again.
                handled = seen
            except OstlerError as error:
                if error.code is Code.JOURNAL_LOST:
                    # Agents would work on without a record of it.
                    self._journal_error = error
                    self.stop()
                    return
                if error.message != reported:
                    reported = error.message
                    _log.warning("the journal cannot be watched, trying again: %s", error.message)
            await self._services.clock.sleep(POLL_SECONDS)


def _pipeline_run(row: TaskRow) -> str:
    return row.pipeline


def _build_outcome(state: State) -> Outcome:
    return Outcome(
        task_id=state.task,
        status=state.status,
        code=state.code,
        message=state.message,
        warnings=state.warnings,
        resumes_at=state.resumes_at,
    )
