"""The local driver: runs tasks with asyncio and one SQLite file, without a server.

The run that holds a task's file lock owns the task, so there are no leases: when a run dies, the kernel
releases the lock once the last keeper of its attempts has exited, and the next run resumes from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from ostler.engine.core.evolve import evolve
from ostler.engine.dependencies import TaskStatuses, find_dependency_event
from ostler.engine.pipeline import find_stop_reason
from ostler.engine.records import append_event
from ostler.engine.steps.services import StepServices, lock_path
from ostler.engine.task_files import write_state_file
from ostler.engine.task_queue import choose_tasks, is_runnable, waits_for_dependency
from ostler.engine.task_runner import Fenced, TaskRunner
from ostler.files.lock import LockHandle, try_lock
from ostler.model.attempt import TaskRow
from ostler.model.event import DecisionRecorded, Event, Record
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus

POLL_SECONDS = 0.1
REFRESH_SECONDS = 1.0  # delay until a new task of high priority is noticed
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
        jobs: int,
        *,
        wait_for_deferred: bool = False,
        fail_fast: bool = False,
        skip_locked: bool = False,
    ) -> None:
        self._services = services
        self._jobs = jobs
        self._wait_for_deferred = wait_for_deferred  # run deferred tasks when they are due
        self._fail_fast = fail_fast  # start no further task after a failure
        self._skip_locked = skip_locked  # do not wait for tasks of other runs
        self._runners: dict[TaskId, TaskRunner] = {}
        self._running: dict[asyncio.Task[State], TaskId] = {}
        self._finished: dict[TaskId, State] = {}
        self._queue: deque[TaskId] = deque()
        self._pipeline_limits: dict[TaskId, tuple[str, int]] = {}  # pipeline run and its max_parallel
        self._locked: list[TaskId] = []  # queued tasks that another run has locked
        self._read_at = 0.0
        self._board_max_age = 0.0  # for an empty queue
        self._task_ended = False  # since the list was read
        self._failed_fast = False
        self._stopping = False

    def stop(self) -> None:
        """Start no further task and stop the running ones; the next run resumes them."""
        self._stopping = True
        for runner in self._runners.values():
            runner.stop()

    def wake_runners(self) -> None:
        """Let the runners read the journal; the watcher does not see writes of this process."""
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
        return [_build_outcome(state) for state in self._finished.values()]

    async def _run_tasks(self, selection: TaskSelection) -> None:
        while True:
            starts = not self._stopping and not self._failed_fast
            if starts:
                await self._start_runnable(selection)
            if self._running or (self._locked and starts and not self._skip_locked):
                await self._wait_for_next()
            elif not starts or not self._has_deferred_task(selection):
                return
            else:
                await self._services.clock.sleep(_DEFERRED_POLL_SECONDS)

    def _has_deferred_task(self, selection: TaskSelection) -> bool:
        """Return whether to wait: a task of this run is deferred until a limit ends."""
        if not self._wait_for_deferred:
            return False
        board = self._services.journal.open_rows()
        return any(selection.includes(row) and row.status == TaskStatus.DEFERRED for row in board)

    async def _start_runnable(self, selection: TaskSelection) -> None:
        """Start runnable tasks while there is a free job."""
        now = self._services.clock.now()
        await self._read_board(selection, now)
        while self._queue and len(self._running) < self._jobs and not self._stopping:
            task = self._queue.popleft()
            if not self._has_pipeline_slot(task):
                # It is queued again when another task of its pipeline has ended.
                continue
            lock = try_lock(self._lock_of(task), retry=False)
            if lock is None:
                self._locked.append(task)
            elif self._is_still_runnable(task, now):
                self._start(task, lock)
            else:
                lock.release()

    def _lock_of(self, task: TaskId) -> Path:
        row = self._services.journal.row(task)
        assert row is not None
        return lock_path(decode_state(row), self._services)

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
        changes = [
            (row, event)
            for row in board
            if (event := find_dependency_event(row, statuses, stopped.get(row.pipeline, ""))) is not None
        ]
        self._cancel_stopped(board, stopped)
        if not changes:
            return board
        written = await asyncio.gather(*(self._append(row, event) for row, event in changes))
        newer = {row.id: row for row in written}
        return [newer.get(row.id, row) for row in board]

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

    def _cancel_stopped(self, board: list[TaskRow], stopped: Mapping[str, str]) -> None:
        """Cancel the running tasks of stopped pipelines."""
        for row in board:
            if row.pipeline in stopped and row.id in self._runners and not decode_state(row).cancel_requested:
                decision = DecisionRecorded("cancel", stopped[row.pipeline])
                append_event(self._services.journal, row.id, decision, self._services.clock.now())
                # The watcher does not see writes of its own connection.
                self._runners[row.id].wake()

    def _has_pipeline_slot(self, task: TaskId) -> bool:
        """Return whether the pipeline of the task may run one more task."""
        pipeline, max_parallel = self._pipeline_limits.get(task, ("", 0))
        running = sum(self._pipeline_limits.get(other, ("", 0))[0] == pipeline for other in self._runners)
        return not pipeline or running < max_parallel

    async def _append(self, row: TaskRow, event: Event) -> TaskRow:
        """Append an event to a task that no run holds; if another process was faster, change nothing."""
        record = Record(row.id, row.seq + 1, self._services.clock.now(), event)
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
        return not (self._wait_for_deferred and row.status == TaskStatus.DEFERRED and is_runnable(row, now))

    def _is_still_runnable(self, task: TaskId, now: float) -> bool:
        """Check again under the lock: another run may have finished the task in the meantime."""
        row = self._services.journal.row(task)
        return (
            row is not None
            and is_runnable(row, now)
            and not waits_for_dependency(row, self._read_dependency_statuses([row]))
        )

    def _start(self, task: TaskId, lock: LockHandle) -> None:
        runner = TaskRunner(task, lock, self._services)
        self._runners[task] = runner
        self._running[asyncio.create_task(runner.run())] = task

    async def _wait_for_next(self) -> None:
        if not self._running:
            await self._services.clock.sleep(POLL_SECONDS)
            return
        # With a free job, a task that another run releases should start soon.
        timeout = POLL_SECONDS if len(self._running) < self._jobs else None
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
            assert row is not None
            self._finished[task] = decode_state(row)
        self._task_ended = True
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
        version = self._services.journal.version()
        while True:
            await self._services.clock.sleep(POLL_SECONDS)
            seen, version = version, self._services.journal.version()
            if version != seen:
                self.wake_runners()


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
