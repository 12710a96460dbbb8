"""Runs one task: decide, perform, record, until it waits or ends."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from ostler.calls.attempts.kept_answer import delete_kept_answer
from ostler.calls.attempts.running import KillRequest
from ostler.calls.thread import run_in_thread
from ostler.calls.turns import take_turns
from ostler.engine.claims import ClaimedWriter
from ostler.engine.core.decide import decide
from ostler.engine.core.evolve import evolve
from ostler.engine.core.moves import list_completed_phases, list_returns
from ostler.engine.core.repeats import bound_failures, find_delay
from ostler.engine.core.rules import RULES
from ostler.engine.core.step import CallAgent, CheckFinal, CheckGate, Checkpoint, Step
from ostler.engine.steps.agent_call.caller import find_task_answer
from ostler.engine.steps.gates.choice import find_baseline, read_protection
from ostler.engine.steps.perform import perform
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.usage import add_unrecorded_usage
from ostler.engine.steps.workspaces.work_in_progress import try_save_work_in_progress
from ostler.engine.task_files import (
    is_state_file_outdated,
    remove_partial_files,
    write_state_file,
    write_task_file,
)
from ostler.errors import Code, OstlerError, StateError
from ostler.files.failpoint import reach
from ostler.files.flush import flush_filesystems
from ostler.files.lock import LockHandle
from ostler.model.event import (
    CheckpointMade,
    DecisionRecorded,
    Event,
    Record,
    TaskClaimed,
    TaskEdited,
    TaskReleased,
    TaskRemoved,
)
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task
from ostler.model.task_record import find_current_task
from ostler.process.child import KILL_NOW
from ostler.process.lease import CURRENT_LEASE, Lease
from ostler.secrets.redact import redact_struct
from ostler.store.fence import Claim, ClaimLost
from ostler.store.journal import Append


class Fenced(Exception):
    """Another run has claimed the task, or a person removed it; this run must not write to it."""


class StepRecord(NamedTuple):
    """The result of a step, or another event, that is to be recorded."""

    event: Event
    notices: Sequence[Notice] = ()
    step: str = ""  # key
    basis: int = 0


class Folded(NamedTuple):
    """What is appended for a result, and the state after it."""

    append: Append
    state: State


class TaskRunner:
    """Runs one task, from its claim to the release of its lock."""

    def __init__(
        self, task: TaskId, lock: LockHandle, services: StepServices, lease: Lease | None = None
    ) -> None:
        self._task = task
        self._lock = lock
        self._services = services
        self._writer = services.writer
        self._lease = lease  # None: nobody else can claim the task while its lock is held
        self._own_claim = Claim(0, lease)  # until the number of the last claim is known
        self._work: asyncio.Task[State] | None = None
        self._is_abandoned = False
        self._has_claimed = False
        self._journal_changed = asyncio.Event()
        self._stopping = False
        self._current_task: Task | None = None  # None: read it from the journal

    def stop(self) -> None:
        """Stop after the current step; the next run resumes the task."""
        self._stopping = True
        self._journal_changed.set()

    def wake(self) -> None:
        """Read the journal again: another process may have written to this task."""
        self._journal_changed.set()

    def abandon(self) -> None:
        """Kill what the task runs and record nothing more: another run has the task, or may have it soon.

        `run` then raises Fenced.
        """
        self._is_abandoned = True
        self._own_claim.revoke()
        if self._lease is not None:
            self._lease.end()
        if self._work is not None:
            self._work.cancel(KILL_NOW)

    async def run(self) -> State:
        """Run the task until it waits or ends, and return its state.

        Raises Fenced when another run has it. An error of the host is raised; the task keeps its progress and
        the next run resumes it.
        """
        with _use_lease(self._lease):
            self._work = asyncio.create_task(take_turns(self._run()))
        if self._is_abandoned:
            self._work.cancel()
        try:
            return await self._work
        except ClaimLost:
            raise Fenced(self._task) from None
        except asyncio.CancelledError:
            if self._is_abandoned and self._work.cancelled():
                raise Fenced(self._task) from None
            raise
        finally:
            self._lock.release()

    async def _run(self) -> State:
        """The life of a task is this function."""
        try:
            state = self._load()
            self._hold_claim(state)
            state = await self._take_in_file(state)
            await run_in_thread(self._repair_files, state)
            state = state if state.status is TaskStatus.BLOCKED else await self._claim(state)
            while not self._stopping and (step := decide(state)) is not None:
                state = await self._perform(self._read_task(), state, step)
            return await self._release(state)
        except OstlerError as error:
            await self._release_after_error(error)
            raise

    async def _take_in_file(self, state: State) -> State:
        """Record a change of task.md that a person made since the last claim."""
        event = None
        if state.status not in TERMINAL:
            event = self._services.take_in_file(state)
        if event is None:
            return state
        state = await self._record(state, event)
        if isinstance(event, TaskEdited):
            self._current_task = None
            await run_in_thread(write_task_file, event.task, self._services.layout)
        return state

    def _repair_files(self, state: State) -> None:
        """Remove partial files and rewrite state.yaml: a killed run may have left both outdated."""
        remove_partial_files(self._task, self._services.layout)
        write_state_file(state, self._services.layout)

    async def _claim(self, state: State) -> State:
        """Record the claim; a task that has ended needs none for the release of its workspace."""
        if state.status in TERMINAL:
            return state
        claimed = await self._record(state, self._build_claim(state))
        self._has_claimed = True
        self._hold_claim(claimed)
        return claimed

    def _hold_claim(self, state: State) -> None:
        """Let the next writes depend on that no other run claims the task after this state."""
        self._own_claim = Claim(state.claims, self._lease)
        self._services = replace(self._services, writer=ClaimedWriter(self._writer, self._own_claim))

    def _build_claim(self, state: State) -> TaskClaimed:
        """Return the claim: the first one records the workspace; a task of older rules is upgraded."""
        claim = TaskClaimed(self._services.run, host=self._services.host)
        if state.rules >= RULES and state.claims:
            return claim
        live = read_protection(self._read_task(), state.plan, self._services.refresh().settings)
        baseline = find_baseline(state, live)
        if state.rules < RULES:
            return replace(claim, rules=RULES, protection=baseline)
        return replace(claim, protection=baseline if baseline != state.baseline else None)

    async def _release(self, state: State) -> State:
        """Save the work of a task that is still in progress, and record that the run has left it."""
        if state.status is not TaskStatus.IN_PROGRESS:
            return state
        message = "the run was stopped; the next run resumes the task"
        if warning := await run_in_thread(try_save_work_in_progress, state, self._services):
            message += f" ({warning})"
        return await self._record_release(state, message)

    async def _record_release(self, state: State, message: str) -> State:
        event = add_unrecorded_usage(TaskReleased(message), state, self._services.journal)
        return await self._record(state, event)

    def _load(self) -> State:
        row = self._services.journal.row(self._task)
        if row is None:
            raise self._corrupt()
        return decode_state(row)

    def _read_task(self) -> Task:
        """Return the task with its edits, which may be newer than the claim."""
        if self._current_task is None:
            task = find_current_task(self._services.journal.read(self._task))
            if task is None:
                raise self._corrupt()
            self._current_task = self._services.amend(task)
        return self._current_task

    def _corrupt(self) -> StateError:
        return StateError(Code.STATE_CORRUPT, f"task {self._task} has no task_created event in the journal")

    async def _perform(self, task: Task, state: State, step: Step) -> State:
        """Perform a step and record its result; a checkpoint after a call is recorded together with it.

        The checkpoint flushes the work, so that the record of the call needs no other flush.
        """
        basis = state.seq
        state, result = await self._run_step(task, state, step)
        if result is None:
            return state
        results = [StepRecord(bound_failures(state, step, result.event), result.notices, step.key, basis)]
        if isinstance(step, CallAgent):
            state, made = await self._checkpoint_first(task, state, results)
            results += made
        has_commit = any(isinstance(one.event, CheckpointMade) and one.event.commit for one in results)
        if result.flush and not has_commit:
            await run_in_thread(flush_filesystems, result.flush)
        after = await self._record_all(state, results)
        reach("step.recorded")
        if isinstance(step, CallAgent | CheckGate | CheckFinal) and not _is_current(after, step):
            # A failed or interrupted call uses it when it is repeated.
            await run_in_thread(delete_kept_answer, find_task_answer(self._task, self._services))
        return after

    async def _checkpoint_first(
        self, task: Task, state: State, results: list[StepRecord]
    ) -> tuple[State, list[StepRecord]]:
        """Make the checkpoint that follows a call which is not recorded yet; nothing if none follows."""
        after = self._fold(state, results)[-1].state
        checkpoint = None if self._stopping else decide(after)
        if not isinstance(checkpoint, Checkpoint):
            return state, []
        state, made = await self._run_step(task, state, checkpoint, results)
        if made is None:
            return state, []
        event = bound_failures(after, checkpoint, made.event)
        return state, [StepRecord(event, made.notices, checkpoint.key, after.seq)]

    async def _run_step(
        self, task: Task, state: State, step: Step, unrecorded: Sequence[StepRecord] = ()
    ) -> tuple[State, StepResult | None]:
        """Run a step while the records of other processes are folded; return the state and the result."""
        basis = self._fold(state, unrecorded)[-1].state if unrecorded else state
        context = TaskContext(task, basis, self._lock.fd)
        work = asyncio.create_task(take_turns(self._perform_after_delay(step, context)))
        try:
            state = await self._watch_step(work, state, step, unrecorded)
            return state, work.result()
        finally:
            await _cancel(work, KILL_NOW if self._is_abandoned else None)

    async def _perform_after_delay(self, step: Step, context: TaskContext) -> StepResult | None:
        """Perform a step; one that failed before waits first, so that a lasting fault is not a busy loop."""
        try:
            if delay := find_delay(context.state, step):
                await self._services.clock.sleep(delay)
        except asyncio.CancelledError:
            return None
        return await perform(step, context, self._services)

    async def _watch_step(
        self,
        work: asyncio.Task[StepResult | None],
        state: State,
        step: Step,
        unrecorded: Sequence[StepRecord],
    ) -> State:
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
            after = self._fold(state, unrecorded)[-1].state if unrecorded else state
            if not cancelled and (self._stopping or not _is_current(after, step)):
                cancelled = work.cancel()
        return state

    async def _release_after_error(self, error: OstlerError) -> None:
        """Record that the run has left the task, if the journal can still be written."""
        try:
            state = self._load()
            if state.status is TaskStatus.IN_PROGRESS:
                await self._record_release(state, error.message)
        except OstlerError:
            # A task that is in progress without a lock counts as interrupted anyway.
            return

    async def _record(self, state: State, event: Event) -> State:
        """Append an event after those of other processes, and return the new state."""
        return await self._record_all(state, [StepRecord(event)])

    async def _record_all(self, state: State, results: Sequence[StepRecord]) -> State:
        """Append events in one transaction after those of other processes, and return the new state."""
        results = [one._replace(event=redact_struct(one.event)) for one in results]
        while True:
            first, *then = self._fold(state, results)
            if await self._services.writer.append(*first.append, then=[one.append for one in then]):
                break
            state = self._catch_up(state)
        after = then[-1].state if then else first.state
        if is_state_file_outdated(state, after):
            # In a thread: a disk with other work to do would stop the event loop, and with it all tasks.
            await run_in_thread(write_state_file, after, self._services.layout)
        return after

    def _fold(self, state: State, results: Sequence[StepRecord]) -> list[Folded]:
        """Return what to append for each of these results, and the states after them."""
        folded: list[Folded] = []
        for one in results:
            record = Record(
                state.task, state.seq + 1, self._services.clock.now(), one.event, one.step, one.basis
            )
            after = evolve(state, record)
            more = (*list_returns(state, after, one.event), *list_completed_phases(state, after))
            folded.append(Folded(Append(record, build_row(after), (*one.notices, *more)), after))
            state = after
        return folded

    def _catch_up(self, state: State) -> State:
        """Fold what other processes wrote; raise Fenced if another run claimed the task or it was removed."""
        for record in self._services.journal.read(state.task, state.seq):
            if isinstance(record.event, TaskRemoved) or self._is_other_claim(record.event):
                raise Fenced(state.task)
            if isinstance(record.event, TaskEdited):
                self._current_task = None
            if isinstance(record.event, DecisionRecorded) and record.event.verb == "kill":
                self._kill_attempt(record.event)
            state = evolve(state, record)
        return state

    def _is_other_claim(self, event: Event | Raw) -> bool:
        """Return whether another run claimed the task; two runs of one process have the same name."""
        is_own = not self._has_claimed and isinstance(event, TaskClaimed) and event.run == self._services.run
        return isinstance(event, TaskClaimed) and not is_own

    def _kill_attempt(self, event: DecisionRecorded) -> None:
        """End one attempt of the current call; one that has ended already is not affected."""
        running = self._services.get_call_services().running
        running.kill(self._task, event.attempt, KillRequest(event.by, event.now))


@contextmanager
def _use_lease(lease: Lease | None) -> Generator[None]:
    """Let programs that are started in a task of this block end with the lease."""
    token = CURRENT_LEASE.set(lease)
    try:
        yield
    finally:
        CURRENT_LEASE.reset(token)


async def _cancel(work: asyncio.Task[StepResult | None], message: str | None) -> None:
    if not work.done():
        work.cancel(message)
        await asyncio.wait({work})
    if not work.cancelled():
        # Retrieve the exception, or asyncio logs it.
        work.exception()


def _is_current(state: State, step: Step) -> bool:
    now = decide(state)
    return now is not None and now.key == step.key
