"""Carries one task: decide, perform, record, until it rests or ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve
from ostler.engine.core.passed import passed
from ostler.engine.core.step import Step
from ostler.engine.projection import differs, project, tidy
from ostler.engine.steps.bill import billed
from ostler.engine.steps.keep import keep_work
from ostler.engine.steps.perform import perform
from ostler.engine.steps.tools import Answer, Case, Tools, to_its_end
from ostler.errors import Code, OstlerError, StateError
from ostler.files.lock import Held
from ostler.model.event import Event, Record, TaskClaimed, TaskCreated, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.rows import row_of, state_of
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task


class Fenced(Exception):
    """Another run has claimed the task since; this one keeps its hands off."""


class Carrier:
    """One task in one run's hands, from the claim to the release of its lock."""

    def __init__(self, task: TaskId, held: Held, tools: Tools) -> None:
        self._task = task
        self._held = held
        self._tools = tools
        self._news = asyncio.Event()
        self._stopping = False

    def stop(self) -> None:
        """Bring the task to a resumable rest."""
        self._stopping = True
        self._news.set()

    def look(self) -> None:
        """Someone wrote to the journal; perhaps about this task."""
        self._news.set()

    async def carry(self) -> State:
        try:
            return await self._carry()
        except OstlerError as error:
            await self._give_back(error)
            raise
        finally:
            self._held.release()

    async def _carry(self) -> State:
        task, state = self._load()
        tidy(self._task, self._tools.layout)
        project(state, self._tools.layout)  # a run that died may not have come to it
        if state.status not in TERMINAL:
            state = await self._record(state, TaskClaimed(self._tools.run))
        while not self._stopping and (step := decide(state)) is not None:
            state = await self._perform(task, state, step)
        if state.status is TaskStatus.IN_PROGRESS:
            state = await self._release(state, await self._keep(state))
        return state

    async def _release(self, state: State, why: str) -> State:
        return await self._record(state, billed(TaskReleased(why), state, self._tools.journal))

    async def _keep(self, state: State) -> str:
        """Commit the work in progress, if git lets us; what to say of it."""
        said = "the run was stopped; the next one goes on"
        try:
            await to_its_end(keep_work, state, self._tools)
        except OstlerError as error:
            return f"{said} (its work is in the worktree, not committed: {error.message})"
        return said

    def _load(self) -> tuple[Task, State]:
        row = self._tools.journal.row(self._task)
        first = self._tools.journal.read(self._task)[:1]
        if row is None or not first or not isinstance(first[0].event, TaskCreated):
            raise StateError(Code.STATE_CORRUPT, f"task {self._task} has no beginning in the journal")
        return self._tools.amend(first[0].event.task), state_of(row)

    async def _perform(self, task: Task, state: State, step: Step) -> State:
        basis = state.seq
        work = asyncio.create_task(perform(step, Case(task, state, self._held.fd), self._tools))
        try:
            state = await self._until_done(work, state, step)
            answer = work.result()
        finally:
            await _end(work)
        if answer is None:
            return state
        return await self._record(state, answer.event, answer.notices, step.key, basis)

    async def _until_done(self, work: asyncio.Task[Answer | None], state: State, step: Step) -> State:
        """Fold what comes from outside; when another step is wanted now, cancel the work, once."""
        cancelled = False
        while not work.done():
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({work, news}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            if not self._news.is_set():
                continue
            self._news.clear()
            state = self._catch_up(state)
            if not cancelled and (self._stopping or not _still_wanted(state, step)):
                cancelled = work.cancel()
        return state

    async def _give_back(self, error: OstlerError) -> None:
        """The host is in trouble; leave the task as it was, if that can still be written down."""
        try:
            _, state = self._load()
            if state.status is TaskStatus.IN_PROGRESS:
                await self._release(state, error.message)
        except OstlerError:
            return  # a task that is in progress without a lock reads as interrupted anyway

    async def _record(
        self, state: State, event: Event, notices: Sequence[Notice] = (), step: str = "", basis: int = 0
    ) -> State:
        while True:
            record = Record(state.task, state.seq + 1, self._tools.clock.now(), event, step, basis)
            after = evolve(state, record)
            told = (*notices, *passed(state, after))
            if await self._tools.writer.append(record, row_of(after), told):
                break
            state = self._catch_up(state)
        if differs(state, after):
            project(after, self._tools.layout)
        return after

    def _catch_up(self, state: State) -> State:
        for record in self._tools.journal.read(state.task, state.seq):
            if isinstance(record.event, TaskClaimed) and record.event.run != self._tools.run:
                raise Fenced(state.task)
            state = evolve(state, record)
        return state


async def _end(work: asyncio.Task[Answer | None]) -> None:
    if not work.done():
        work.cancel()
        await asyncio.wait({work})


def _still_wanted(state: State, step: Step) -> bool:
    now = decide(state)
    return now is not None and now.key == step.key
