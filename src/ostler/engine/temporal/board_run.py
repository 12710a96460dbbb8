"""The board of a cluster: one worker reads the task list and starts a workflow for each task that can run.

It holds nothing that is not in the journal or on the server, so another worker continues after any end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from ostler.engine.board import Orders, look_at
from ostler.engine.board_reader import read_board
from ostler.engine.board_writer import block_successors, cancel_tasks, settle_board
from ostler.engine.steps.services import StepServices
from ostler.engine.temporal.give_back import GivenBack
from ostler.engine.temporal.names import BoardOrder, TaskOrder, task_queue
from ostler.engine.temporal.task_starts import TaskStarts
from ostler.errors import OstlerError
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.model.task_record import find_current_task, list_versions
from ostler.process.lease import Lease


class StartTask(Protocol):
    async def __call__(self, order: TaskOrder, row: TaskRow, *, replaces: bool = False) -> bool:
        """Start the workflow of a task; return False when it is open already, and is not replaced."""
        ...


_log = logging.getLogger(__name__)
_MAX_AGE_SECONDS = 5.0  # of the list
_WHOLE_SECONDS = 60.0  # between two reads of the whole list, with the tasks that wait for a person
# A board reads the list for at most a fifth of its time. The whole list does not count: it is read rarely,
# and a decision that is made meanwhile would wait for seconds where thousands of tasks wait for a person.
_AGE_RATIO = 4
_ROUND_SECONDS = 3600.0  # then the workflow continues as a new run, with an empty history
_MIN_PAUSE_SECONDS = 0.02
_RETRY_SECONDS = 2.0  # after an error of the journal or of the server
_FAILED_SECONDS = 10.0  # after an error that only a bug can cause
_PARALLEL_STARTS = 20


class BoardRuns:
    """Runs the board on this worker, on the engine's loop."""

    def __init__(
        self,
        services: StepServices,
        start: StartTask,
        heartbeat_seconds: float,  # of the tasks; that of the board's workflow may be an old setting
        wake_tasks: Callable[[], None],
        print_message: Callable[[str], None],
    ) -> None:
        self.services = services
        self.start = start
        self.heartbeat_seconds = heartbeat_seconds
        self.wake_tasks = wake_tasks
        self.print_message = print_message
        self._open: set[BoardRun] = set()
        self._stopping = False

    def open(self, order: BoardOrder, lease: Lease) -> BoardRun:
        return BoardRun(order, lease, self)

    def add(self, run: BoardRun) -> None:
        if self._stopping:
            raise GivenBack("stopped", 0.1)
        self._open.add(run)

    def remove(self, run: BoardRun) -> None:
        self._open.discard(run)

    def wake(self) -> None:
        """Let the board read the journal."""
        for run in self._open:
            run.wake()

    def stop(self) -> None:
        """Leave the board to another worker."""
        self._stopping = True
        for run in self._open:
            run.stop()


class BoardRun:
    """One round of the board."""

    def __init__(self, order: BoardOrder, lease: Lease, runs: BoardRuns) -> None:
        self.lease = lease
        self._order = order
        self._runs = runs
        self._services = runs.services
        self._starts = TaskStarts()
        self._ended = asyncio.Event()
        self._read_at = -_ROUND_SECONDS
        self._whole_at = -_ROUND_SECONDS
        self._due_at = float("inf")  # when a task can start because of its time
        self._cost_seconds = 0.0
        self._is_changed = True  # the journal, since it was read
        self._woken = asyncio.Event()
        self._reported = ""

    def wake(self) -> None:
        self._is_changed = True
        self._woken.set()

    def stop(self) -> None:
        self._ended.set()
        self._woken.set()

    def abandon(self) -> None:
        # Two boards at once would only be refused more often.
        self.stop()

    async def run(self) -> None:
        """Look at the board until the round is over; raise GivenBack when it has to end before."""
        clock = self._services.clock
        until = clock.monotonic() + _ROUND_SECONDS
        self._runs.add(self)
        try:
            while not self._ended.is_set() and clock.monotonic() < until:
                await self._try_look()
                await self._wait(self._find_pause())
        except Exception as error:
            # Its text may be that of a task, and must not be in the history of the workflow.
            _log.exception("the board could not be read; it is tried again in %g s", _FAILED_SECONDS)
            raise GivenBack("failed", _FAILED_SECONDS) from error
        finally:
            self._runs.remove(self)
        if self._ended.is_set():
            raise GivenBack("stopped", 0.1)

    async def _try_look(self) -> None:
        try:
            if self._is_due():
                await self._look()
            self._reported = ""
        except OstlerError as error:
            if error.message != self._reported:
                self._reported = error.message
                self._runs.print_message(f"no task is started at the moment: {error.message}")
            await self._services.clock.sleep(_RETRY_SECONDS)
            self._is_changed = True

    def _find_pause(self) -> float:
        """Return how long to wait for a change; the list is not read again at once."""
        now, rest = self._services.clock.monotonic(), self._cost_seconds * _AGE_RATIO
        due = now if self._is_changed else self._find_due()
        return max(_MIN_PAUSE_SECONDS, self._read_at + rest - now, due - now)

    def _is_due(self) -> bool:
        """Return whether the journal changed, or a task may have become due; reading the list costs time."""
        now, rest = self._services.clock.monotonic(), self._cost_seconds * _AGE_RATIO
        if now < self._read_at + rest:
            return False
        return self._is_changed or now >= self._find_due()

    def _find_due(self) -> float:
        return min(self._read_at + _MAX_AGE_SECONDS, self._starts.next_at(), self._due_at)

    async def _look(self) -> None:
        services = self._services
        self._read_at, self._is_changed = services.clock.monotonic(), False
        board = read_board(services.journal, self._read_rows())
        in_progress = [row for row in board.rows if row.status == TaskStatus.IN_PROGRESS]
        running, now = {row.id for row in in_progress}, services.clock.now()
        settled = await settle_board(board, lambda board: look_at(board, now, running), services)
        cancel_tasks(settled.orders, services)
        successors = [row.id for row in in_progress if row.after]
        block_successors(successors, services)
        if settled.orders.cancel or successors:
            # The watch of the journal does not see writes of its own connection.
            self._runs.wake_tasks()
        rows = [*in_progress, *_list_startable(settled.board.rows, settled.orders)]
        members = {row.id: row for row in settled.board.rows if row.pipeline}
        self._due_at = self._read_at + find_next_due(settled.board.rows, now)
        chosen = self._starts.choose(rows, members, services.clock.monotonic(), self._read_label)
        if self._whole_at < self._read_at:
            self._cost_seconds = services.clock.monotonic() - self._read_at
        await self._start(chosen)

    def _read_rows(self) -> list[TaskRow]:
        """Read the tasks that may have to be started.

        A task that waits for a person is started when that person's command ends before it has closed the
        task; this is rare, and thousands of tasks can wait.
        """
        if self._read_at < self._whole_at + _WHOLE_SECONDS:
            return self._services.journal.active_rows()
        self._whole_at = self._read_at
        return self._services.journal.open_rows()

    async def _start(self, rows: list[TaskRow]) -> None:
        for first in range(0, len(rows), _PARALLEL_STARTS):
            if self._ended.is_set():
                return
            await asyncio.gather(*(self._start_task(row) for row in rows[first : first + _PARALLEL_STARTS]))

    async def _start_task(self, row: TaskRow) -> None:
        versions = list_versions(self._services.journal.read(row.id))
        if not versions:  # a person removed it
            return
        label = versions[-1].label
        order = TaskOrder(row.id, task_queue(self._order.queue, label), self._runs.heartbeat_seconds)
        started = await self._runs.start(order, row)
        if not started and self._has_other_label(row, versions):
            # It would wait for workers with the label that it had before, and there may be none.
            started = await self._runs.start(order, row, replaces=True)
        self._starts.note(row, label, self._services.clock.monotonic(), started=started)

    def _has_other_label(self, row: TaskRow, versions: Sequence[Task]) -> bool:
        """Return whether the open workflow of a task may be from before a change of its label.

        After its first claim, a task keeps its label.
        """
        label = versions[-1].label
        is_edited = any(one.label != label for one in versions)
        return is_edited and not self._starts.waits_with(row, label) and not decode_state(row).claims

    def _read_label(self, task: TaskId) -> str:
        found = find_current_task(self._services.journal.read(task))
        return found.label if found is not None else ""

    async def _wait(self, seconds: float) -> None:
        self._woken.clear()
        if not self._ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)


def _list_startable(rows: Sequence[TaskRow], orders: Orders) -> list[TaskRow]:
    by_id = {row.id: row for row in rows}
    return [by_id[task] for task in orders.start]


def find_next_due(rows: Sequence[TaskRow], now: float) -> float:
    """Return in how many seconds the next task becomes due by its time."""
    times = (at for row in rows for at in (row.not_before, row.resumes_at) if at is not None and at > now)
    return min(times, default=float("inf")) - now
