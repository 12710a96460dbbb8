"""The local driver: asyncio, one SQLite file, no server.

A task is carried by whoever holds its file lock, so there are no leases: when a run dies the kernel gives the
lock back as soon as the last keeper of its attempts has ended, and the next run goes on from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from ostler.engine.carry import Carrier, Fenced
from ostler.engine.rows import state_of
from ostler.engine.schedule import choose, takeable
from ostler.engine.steps.tools import Tools, lock_path
from ostler.files.lock import Held, try_lock
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome
from ostler.model.state import State
from ostler.model.status import TaskStatus

POLL_SECONDS = 0.1
REFRESH_SECONDS = 1.0  # how long a task of high priority that was just written may go unseen
_DUE_SECONDS = 0.5  # how often a run that waits for a limit looks at the board


class Wanted(msgspec.Struct, frozen=True):
    """Which tasks a run is for."""

    ids: tuple[TaskId, ...] = ()  # empty: every task that can be taken

    def covers(self, row: TaskRow) -> bool:
        return not self.ids or row.id in self.ids


class LocalDriver:
    """Carries tasks side by side until none is left to take, or until it is told to stop."""

    def __init__(self, tools: Tools, jobs: int, *, patient: bool = False) -> None:
        self._tools = tools
        self._jobs = jobs if tools.repository is not None else 1
        self._patient = patient  # deferred tasks are waited for and taken again
        self._carriers: dict[TaskId, Carrier] = {}
        self._running: dict[asyncio.Task[State], TaskId] = {}
        self._done: dict[TaskId, State] = {}
        self._queue: deque[TaskId] = deque()
        self._busy: list[TaskId] = []  # of those last queued: what another run holds
        self._read_at = 0.0
        self._stopping = False

    def stop(self) -> None:
        """Take nothing more and bring what runs to a resumable rest."""
        self._stopping = True
        for carrier in self._carriers.values():
            carrier.stop()

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
            if not self._stopping:
                self._take(wanted)
            if self._running or (self._busy and not self._stopping):
                await self._wait_for_one()
            elif self._stopping or not self._someone_is_due(wanted):
                return
            else:
                await self._tools.clock.sleep(_DUE_SECONDS)

    def _someone_is_due(self, wanted: Wanted) -> bool:
        """Whether it is worth waiting: a task of this run rests until a limit ends."""
        if not self._patient:
            return False
        board = self._tools.journal.open_rows()
        return any(wanted.covers(row) and row.status == TaskStatus.DEFERRED for row in board)

    def _take(self, wanted: Wanted) -> None:
        """Start what is free."""
        now = self._tools.clock.now()
        self._read_board(wanted, now)
        while self._queue and len(self._running) < self._jobs:
            task = self._queue.popleft()
            held = try_lock(lock_path(task, self._tools), patient=False)
            if held is None:
                self._busy.append(task)
            elif self._still_takeable(task, now):
                self._start(task, held)
            else:
                held.release()

    def _read_board(self, wanted: Wanted, now: float) -> None:
        """Queue what can be taken; looked at again when the queue is empty, and soon after others wrote."""
        if self._queue and abs(now - self._read_at) < REFRESH_SECONDS:
            return
        self._read_at = now
        board = [row for row in self._tools.journal.open_rows() if wanted.covers(row)]
        taken = {row.id for row in board if row.id in self._carriers or self._is_done(row, now)}
        self._queue, self._busy = deque(choose(board, taken, len(board), now)), []

    def _is_done(self, row: TaskRow, now: float) -> bool:
        """Whether this run is through with it: nobody has opened it again since, and no limit has ended."""
        done = self._done.get(row.id)
        if done is None or done.seq < row.seq:
            return False
        return not (self._patient and row.status == TaskStatus.DEFERRED and takeable(row, now))

    def _still_takeable(self, task: TaskId, now: float) -> bool:
        """Asked again under the lock: another run may have ended it since the board was read."""
        row = self._tools.journal.row(task)
        return row is not None and takeable(row, now)

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
                for carrier in self._carriers.values():
                    carrier.look()


def _outcome(state: State) -> Outcome:
    return Outcome(
        task_id=state.task,
        status=state.status,
        code=state.code,
        message=state.message,
        warnings=state.warnings,
        resumes_at=state.resumes_at,
    )
