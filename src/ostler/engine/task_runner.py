"""Runs one task: decide, perform, record, until it waits or ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve
from ostler.engine.core.moves import list_completed_phases
from ostler.engine.core.step import Step
from ostler.engine.steps.perform import perform
from ostler.engine.steps.services import StepResult, StepServices, TaskContext, run_in_thread
from ostler.engine.steps.usage import add_unrecorded_usage
from ostler.engine.steps.workspaces.work_in_progress import save_work_in_progress
from ostler.engine.task_files import is_state_file_outdated, remove_partial_files, write_state_file
from ostler.errors import Code, OstlerError, StateError
from ostler.files.lock import LockHandle
from ostler.model.event import Event, Record, TaskClaimed, TaskCreated, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task


class Fenced(Exception):
    """Another run has claimed the task in the meantime; this run must not write to it."""


class TaskRunner:
    """Runs one task, from its claim to the release of its lock."""

    def __init__(self, task: TaskId, lock: LockHandle, services: StepServices) -> None:
        self._task = task
        self._lock = lock
        self._services = services
        self._journal_changed = asyncio.Event()
        self._stopping = False

    def stop(self) -> None:
        """Stop after the current step; the next run resumes the task."""
        self._stopping = True
        self._journal_changed.set()

    def wake(self) -> None:
        """Read the journal again: another process may have written to this task."""
        self._journal_changed.set()

    async def run(self) -> State:
        """Run the task until it waits or ends, and return its state; the life of a task is this function.

        An error of the host is raised; the task keeps its progress and the next run resumes it.
        """
        try:
            task, state = self._load()
            self._repair_files(state)
            state = await self._claim(state)
            while not self._stopping and (step := decide(state)) is not None:
                state = await self._perform(task, state, step)
            return await self._release(state)
        except OstlerError as error:
            await self._release_after_error(error)
            raise
        finally:
            self._lock.release()

    def _repair_files(self, state: State) -> None:
        """Remove partial files and rewrite state.yaml: a killed run may have left both outdated."""
        remove_partial_files(self._task, self._services.layout)
        write_state_file(state, self._services.layout)

    async def _claim(self, state: State) -> State:
        """Record the claim; a task that has ended needs none for the release of its workspace."""
        if state.status in TERMINAL:
            return state
        return await self._record(state, TaskClaimed(self._services.run))

    async def _release(self, state: State) -> State:
        """Save the work of a task that is still in progress, and record that the run has left it."""
        if state.status is not TaskStatus.IN_PROGRESS:
            return state
        message = "the run was stopped; the next run resumes the task"
        try:
            await run_in_thread(save_work_in_progress, state, self._services)
        except OstlerError as error:
            message += f" (its work is in the worktree, not committed: {error.message})"
        return await self._record_release(state, message)

    async def _record_release(self, state: State, message: str) -> State:
        event = add_unrecorded_usage(TaskReleased(message), state, self._services.journal)
        return await self._record(state, event)

    def _load(self) -> tuple[Task, State]:
        row = self._services.journal.row(self._task)
        first = self._services.journal.read(self._task)[:1]
        if row is None or not first or not isinstance(first[0].event, TaskCreated):
            raise StateError(
                Code.STATE_CORRUPT, f"task {self._task} has no task_created event in the journal"
            )
        return self._services.amend(first[0].event.task), decode_state(row)

    async def _perform(self, task: Task, state: State, step: Step) -> State:
        """Perform a step and record its result."""
        basis = state.seq
        work = asyncio.create_task(perform(step, TaskContext(task, state, self._lock.fd), self._services))
        try:
            state = await self._watch_step(work, state, step)
            result = work.result()
        finally:
            await _cancel(work)
        if result is None:
            return state
        return await self._record(state, result.event, result.notices, step.key, basis)

    async def _watch_step(self, work: asyncio.Task[StepResult | None], state: State, step: Step) -> State:
        """Fold records of other processes; cancel the step once if it is superseded."""
        cancelled = False
        while not work.done():
            change = asyncio.ensure_future(self._journal_changed.wait())
            await asyncio.wait({work, change}, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
            if not self._journal_changed.is_set():
                continue
            self._journal_changed.clear()
            state = self._catch_up(state)
            if not cancelled and (self._stopping or not _is_current(state, step)):
                cancelled = work.cancel()
        return state

    async def _release_after_error(self, error: OstlerError) -> None:
        """Record that the run has left the task, if the journal can still be written."""
        try:
            _, state = self._load()
            if state.status is TaskStatus.IN_PROGRESS:
                await self._record_release(state, error.message)
        except OstlerError:
            # A task that is in progress without a lock counts as interrupted anyway.
            return

    async def _record(
        self, state: State, event: Event, notices: Sequence[Notice] = (), step: str = "", basis: int = 0
    ) -> State:
        """Append an event after those of other processes, and return the new state."""
        while True:
            record = Record(state.task, state.seq + 1, self._services.clock.now(), event, step, basis)
            after = evolve(state, record)
            notices_after = (*notices, *list_completed_phases(state, after))
            if await self._services.writer.append(record, build_row(after), notices_after):
                break
            state = self._catch_up(state)
        if is_state_file_outdated(state, after):
            write_state_file(after, self._services.layout)
        return after

    def _catch_up(self, state: State) -> State:
        """Fold what other processes wrote; raise Fenced if another run claimed the task."""
        for record in self._services.journal.read(state.task, state.seq):
            if isinstance(record.event, TaskClaimed) and record.event.run != self._services.run:
                raise Fenced(state.task)
            state = evolve(state, record)
        return state


async def _cancel(work: asyncio.Task[StepResult | None]) -> None:
    if not work.done():
        work.cancel()
        await asyncio.wait({work})


def _is_current(state: State, step: Step) -> bool:
    now = decide(state)
    return now is not None and now.key == step.key
