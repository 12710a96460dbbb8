"""The local driver: asyncio, one SQLite file, no server.

A task is carried by whoever holds its file lock, so there are no leases: when a run dies the kernel gives the
lock back as soon as the last keeper of its attempts has ended, and the next run goes on from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from ostler.engine.carry import Carrier, Fenced
from ostler.engine.core.evolve import evolve
from ostler.engine.dependencies import Standing, settle
from ostler.engine.pipeline import stop_reason
from ostler.engine.post import post
from ostler.engine.projection import project
from ostler.engine.schedule import choose, held_back, takeable
from ostler.engine.steps.tools import Tools, lock_path
from ostler.files.lock import Held, try_lock
from ostler.model.attempt import TaskRow
from ostler.model.event import DecisionRecorded, Event, Record
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.rows import row_of, state_of
from ostler.model.state import State
from ostler.model.status import TaskStatus

POLL_SECONDS = 0.1
REFRESH_SECONDS = 1.0  # how long a task of high priority that was just written may go unseen
_DUE_SECONDS = 0.5  # how often a run that waits for a limit looks at the board
_REST_RATIO = 10  # of the time that it takes to read the board


class Wanted(msgspec.Struct, frozen=True):
    """Which tasks a run is for."""

    ids: tuple[TaskId, ...] = ()  # empty: every task that can be taken

    def covers(self, row: TaskRow) -> bool:
        return not self.ids or row.id in self.ids


class LocalDriver:
    """Carries tasks side by side until none is left to take, or until it is told to stop."""

    def __init__(
        self,
        tools: Tools,
        jobs: int,
        *,
        patient: bool = False,
        fail_fast: bool = False,
        leave_busy: bool = False,
    ) -> None:
        self._tools = tools
        self._jobs = jobs
        self._patient = patient  # deferred tasks are waited for and taken again
        self._fail_fast = fail_fast  # nothing is taken any more once a task has failed
        self._leave_busy = leave_busy  # what another run holds is not waited for
        self._carriers: dict[TaskId, Carrier] = {}
        self._running: dict[asyncio.Task[State], TaskId] = {}
        self._done: dict[TaskId, State] = {}
        self._queue: deque[TaskId] = deque()
        self._limits: dict[TaskId, tuple[str, int]] = {}  # of tasks that are parts of pipelines
        self._busy: list[TaskId] = []  # of those last queued: what another run holds
        self._read_at = 0.0
        self._rest = 0.0  # how long an empty queue is not looked at again
        self._one_ended = False  # since the board was read
        self._had_enough = False
        self._stopping = False

    def stop(self) -> None:
        """Take nothing more and bring what runs to a resumable rest."""
        self._stopping = True
        for carrier in self._carriers.values():
            carrier.stop()

    def look(self) -> None:
        """Have the carriers read the journal; what this process wrote itself no watcher sees."""
        for carrier in self._carriers.values():
            carrier.look()

    async def run(self, wanted: Wanted) -> list[Outcome]:
        """The outcome of every task that this run carried, and of the wanted ones that others carried."""
        watcher = asyncio.create_task(self._watch())
        try:
            await self._carry_all(wanted)
        finally:
            watcher.cancel()
            await self._settle()
        return [_outcome(state) for state in self._done.values()]

    async def _carry_all(self, wanted: Wanted) -> None:
        while True:
            takes = not self._stopping and not self._had_enough
            if takes:
                await self._take(wanted)
            if self._running or (self._busy and takes and not self._leave_busy):
                await self._wait_for_one()
            elif not takes or not self._someone_is_due(wanted):
                return
            else:
                await self._tools.clock.sleep(_DUE_SECONDS)

    def _someone_is_due(self, wanted: Wanted) -> bool:
        """Whether it is worth waiting: a task of this run rests until a limit ends."""
        if not self._patient:
            return False
        board = self._tools.journal.open_rows()
        return any(wanted.covers(row) and row.status == TaskStatus.DEFERRED for row in board)

    async def _take(self, wanted: Wanted) -> None:
        """Start what is free."""
        now = self._tools.clock.now()
        await self._read_board(wanted, now)
        while self._queue and len(self._running) < self._jobs and not self._stopping:
            task = self._queue.popleft()
            if not self._has_room(task):
                continue  # it is queued again when one of its pipeline has ended
            held = try_lock(self._lock_of(task), patient=False)
            if held is None:
                self._busy.append(task)
            elif self._still_takeable(task, now):
                self._start(task, held)
            else:
                held.release()

    def _lock_of(self, task: TaskId) -> Path:
        row = self._tools.journal.row(task)
        assert row is not None
        return lock_path(state_of(row), self._tools)

    async def _read_board(self, wanted: Wanted, now: float) -> None:
        """Queue what can be taken; looked at again when the queue is empty, and soon after others wrote."""
        if self._board_is_fresh(now):
            return
        began = self._tools.clock.monotonic()
        self._read_at, self._one_ended = now, False
        rows = self._tools.journal.open_rows()
        standing = self._standing(rows)
        board = await self._settled([row for row in rows if wanted.covers(row)], standing)
        self._limits = {row.id: (row.pipeline, row.at_once) for row in board if row.pipeline}
        taken = {row.id for row in board if row.id in self._carriers or self._is_done(row, now)}
        self._queue, self._busy = deque(choose(board, taken, len(board), now, standing)), []
        self._rest = min(_DUE_SECONDS, _REST_RATIO * (self._tools.clock.monotonic() - began))

    def _board_is_fresh(self, now: float) -> bool:
        """Whether to read it again can wait: a board of thousands takes a while."""
        passed = abs(now - self._read_at)
        return passed < REFRESH_SECONDS if self._queue else not self._one_ended and passed < self._rest

    def _standing(self, rows: list[TaskRow]) -> Standing:
        """How the tasks stand that these come after."""
        first = {task for row in rows for task in row.after}
        known = {row.id: row.status for row in rows if row.id in first}
        return known | self._tools.journal.statuses(first - known.keys()) if first else {}

    async def _settled(self, board: list[TaskRow], standing: Standing) -> list[TaskRow]:
        """The board after it is written which tasks cannot begin because of another, and which can again."""
        stopped = self._stopped_pipelines(board)
        news = [
            (row, event)
            for row in board
            if (event := settle(row, standing, stopped.get(row.pipeline, ""))) is not None
        ]
        self._abort(board, stopped)
        if not news:
            return board
        written = await asyncio.gather(*(self._write(row, event) for row, event in news))
        newer = {row.id: row for row in written}
        return [newer.get(row.id, row) for row in board]

    def _stopped_pipelines(self, board: list[TaskRow]) -> dict[str, str]:
        """The runs of pipelines that do not go on, and why."""
        runs = sorted({row.pipeline for row in board if row.pipeline})
        if not runs:
            return {}
        members = groupby(sorted(self._tools.journal.pipeline_rows(runs), key=_run_of), key=_run_of)
        reasons = {run: stop_reason(rows) for run, rows in members}
        return {run: reason for run, reason in reasons.items() if reason}

    def _abort(self, board: list[TaskRow], stopped: Mapping[str, str]) -> None:
        """What this run carries of a pipeline that stopped is cancelled."""
        for row in board:
            if row.pipeline in stopped and row.id in self._carriers and not state_of(row).cancel:
                decision = DecisionRecorded("cancel", stopped[row.pipeline])
                post(self._tools.journal, row.id, decision, self._tools.clock.now())
                self._carriers[row.id].look()  # no watcher sees what its own connection wrote

    def _has_room(self, task: TaskId) -> bool:
        """Whether the pipeline that it is a part of may have one more task at work."""
        pipeline, at_once = self._limits.get(task, ("", 0))
        at_work = sum(self._limits.get(other, ("", 0))[0] == pipeline for other in self._carriers)
        return not pipeline or at_work < at_once

    async def _write(self, row: TaskRow, event: Event) -> TaskRow:
        """One more record of a task that nobody carries; whoever was faster knows better."""
        record = Record(row.id, row.seq + 1, self._tools.clock.now(), event)
        after = evolve(state_of(row), record)
        if not await self._tools.writer.append(record, row_of(after)):
            return row
        project(after, self._tools.layout)
        if after.status is TaskStatus.BLOCKED:
            self._done[row.id] = after
        return row_of(after)

    def _is_done(self, row: TaskRow, now: float) -> bool:
        """Whether this run is through with it: nobody has opened it again since, and no limit has ended."""
        done = self._done.get(row.id)
        if done is None or done.seq < row.seq:
            return False
        return not (self._patient and row.status == TaskStatus.DEFERRED and takeable(row, now))

    def _still_takeable(self, task: TaskId, now: float) -> bool:
        """Asked again under the lock: another run may have ended it since the board was read."""
        row = self._tools.journal.row(task)
        return row is not None and takeable(row, now) and not held_back(row, self._standing([row]))

    def _start(self, task: TaskId, held: Held) -> None:
        carrier = Carrier(task, held, self._tools)
        self._carriers[task] = carrier
        self._running[asyncio.create_task(carrier.carry())] = task

    async def _wait_for_one(self) -> None:
        if not self._running:
            await self._tools.clock.sleep(POLL_SECONDS)
            return
        # With free places a task that another run gives up should be taken soon.
        timeout = POLL_SECONDS if len(self._running) < self._jobs else None
        done, _ = await asyncio.wait(self._running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for finished in done:
            self._collect(finished)

    def _collect(self, finished: asyncio.Task[State]) -> None:
        task = self._running.pop(finished)
        self._carriers.pop(task)
        try:
            self._done[task] = finished.result()
        except Fenced:
            row = self._tools.journal.row(task)
            assert row is not None
            self._done[task] = state_of(row)
        self._one_ended = True
        failed = self._done[task].status in (TaskStatus.FAILED, TaskStatus.QUARANTINED)
        self._had_enough |= self._fail_fast and failed
        if failed and self._done[task].pipeline is not None:
            self._queue.clear()  # the others may have to stop: that is decided when the board is read

    async def _settle(self) -> None:
        """After an error in one task: bring the others to rest before the error goes on."""
        self.stop()
        if self._running:
            await asyncio.wait(self._running)
            for work in self._running:
                work.exception()  # the first error is already on its way up

    async def _watch(self) -> None:
        """Tell the carriers when any process has written to the journal."""
        version = self._tools.journal.version()
        while True:
            await self._tools.clock.sleep(POLL_SECONDS)
            seen, version = version, self._tools.journal.version()
            if version != seen:
                self.look()


def _run_of(row: TaskRow) -> str:
    return row.pipeline


def _outcome(state: State) -> Outcome:
    return Outcome(
        task_id=state.task,
        status=state.status,
        code=state.code,
        message=state.message,
        warnings=state.warnings,
        resumes_at=state.resumes_at,
    )
