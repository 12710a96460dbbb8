"""The runs of tasks on one worker, on the engine's loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ostler.calls.host import DEFAULT_FOOTPRINT_MB, get_free_memory_mb
from ostler.engine.board_reader import is_startable
from ostler.engine.core.rules import require_known_rules
from ostler.engine.failure_streak import FailureStreak
from ostler.engine.pipeline_slots import try_lock_task
from ostler.engine.provider_holds import find_hold
from ostler.engine.steps.services import StepServices
from ostler.engine.task_runner import Fenced, TaskRunner
from ostler.engine.temporal.give_back import GivenBack
from ostler.errors import OstlerError, StateError
from ostler.files.disk import to_machine_error
from ostler.files.lock import LockHandle
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.process.lease import Lease

_log = logging.getLogger(__name__)
_LOCK_POLL_SECONDS = 0.05
_LOCK_SECONDS = 20.0  # for the end of the last attempt, when it ran on this machine too
_HOLD_SECONDS = 30.0
_FAILED_SECONDS = 5.0  # until another worker gets a task that could not be run here
_BUG_SECONDS = 600.0  # of one that could not be run because of a bug in Ostler
_PAUSE_SECONDS = 30.0  # of a worker that cannot run tasks; doubled while that lasts
_MAX_PAUSE_SECONDS = 600.0
NOT_READY = "not-ready"  # a person or another run changed the task after it was started


class TaskRuns:
    """The tasks that this worker runs now, and whether it may take another one."""

    def __init__(
        self, services: StepServices, read_jobs: Callable[[], int], print_message: Callable[[str], None]
    ) -> None:
        self.services = services
        self._read_jobs = read_jobs
        self._print_message = print_message
        self._runs: dict[TaskId, TaskRun] = {}
        self._streak = FailureStreak()
        self._errors = 0  # runs in a row that ended with an error of this machine
        self._paused_until = 0.0
        self._room = 0
        self._stopping = False
        self._has_met_newer = False
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def wait_until_idle(self) -> None:
        """Wait until no task runs."""
        await self._is_idle.wait()

    def has_room(self, running: int) -> bool:
        """Return whether to ask for one more task; called from the thread of the Temporal client."""
        return running < self._room

    def update_room(self) -> None:
        """Read how many tasks may run now: the jobs, or fewer while memory is short.

        Before it starts, each agent waits for its memory anyway; this leaves tasks to workers that have more.
        """
        is_open = not self._stopping and self.services.clock.monotonic() >= self._paused_until
        jobs = self._read_jobs() if is_open else 0
        self._room = min(jobs, len(self._runs)) if self._runs and not self._has_memory() else jobs

    def _has_memory(self) -> bool:
        free, keep = get_free_memory_mb(), self.services.refresh().settings.host.min_free_memory_mb
        return free is None or free >= keep + DEFAULT_FOOTPRINT_MB

    def open(self, task: TaskId, lease: Lease) -> TaskRun:
        return TaskRun(task, lease, self)

    def add(self, run: TaskRun) -> None:
        if self._stopping:
            raise GivenBack("stopped", 0.1)
        if len(self._runs) >= self._read_jobs():
            raise GivenBack("full", 1.0)
        if run.task in self._runs:
            # The last attempt, which has lost its lease, has not ended yet.
            raise GivenBack("locked", 1.0)
        self._runs[run.task] = run
        self._is_idle.clear()

    def remove(self, run: TaskRun) -> None:
        del self._runs[run.task]
        if not self._runs:
            self._is_idle.set()

    def wake(self) -> None:
        """Let the runs read the journal."""
        for run in self._runs.values():
            run.wake()

    def stop(self) -> None:
        """Take no further task and stop the running ones, which keep their work."""
        self._stopping, self._room = True, 0
        for run in self._runs.values():
            run.stop()

    def require_known(self, state: State) -> None:
        """Leave a task of a newer version to a worker of that version; say so once."""
        try:
            require_known_rules(state)
        except StateError as error:
            if not self._has_met_newer:
                self._print_message(f"{error.message}, which has to run it.  Next: {error.hint}")
            self._has_met_newer = True
            raise GivenBack("newer", _FAILED_SECONDS) from None

    def note_lost(self, task: TaskId) -> None:
        """Print why the agents of a task were ended."""
        self._print_message(
            f"the run of {task} ends here: its heartbeats were not accepted; another worker may continue it"
        )

    def note_end(self, state: State) -> None:
        """Pause after many failures with one cause."""
        self._errors = 0
        self._streak.add(state, self.services.refresh().settings.run.stop_after_failures)
        if self._streak.reason:
            self._pause(_MAX_PAUSE_SECONDS, self._streak.reason)
            self._streak = FailureStreak()

    def note_error(self, error: OstlerError) -> None:
        """Pause after an error of this machine: other workers may be able to run the task.

        Runs that end during a pause were started before it: one outage ends many of them. A worker that is
        stopped starts no task anyway.
        """
        reason = f"{error.message}  Next: {error.hint}" if error.hint else error.message
        if self._stopping or self.services.clock.monotonic() < self._paused_until:
            self._print_message(reason)
            return
        seconds = min(_PAUSE_SECONDS * 2.0 ** min(self._errors, 9), _MAX_PAUSE_SECONDS)
        self._errors += 1
        self._pause(seconds, reason)

    def _pause(self, seconds: float, reason: str) -> None:
        self._room = 0
        self._paused_until = self.services.clock.monotonic() + seconds
        self._print_message(f"{reason}  (no further task is started here for {seconds:g} s)")


class TaskRun:
    """One run of a task, until it waits, has ended or is given back."""

    def __init__(self, task: TaskId, lease: Lease, runs: TaskRuns) -> None:
        self.task = task
        self.lease = lease
        self._runs = runs
        self._services = runs.services
        self._runner: TaskRunner | None = None
        self._is_stopping = False
        self._is_lost = False

    async def run(self) -> str:
        """Run the task and return its status; raise GivenBack when it is left to another worker."""
        self._runs.add(self)
        try:
            return await self._run()
        except (GivenBack, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001  (no error of one run ends those of other tasks)
            raise self._give_back(error) from None
        finally:
            self._runs.remove(self)

    def wake(self) -> None:
        if self._runner is not None:
            self._runner.wake()

    def stop(self) -> None:
        """Stop the current step and keep the work."""
        self._is_stopping = True
        if self._runner is not None:
            self._runner.stop()

    def abandon(self) -> None:
        """End at once: another worker runs the task, or may do so at any moment."""
        self._is_lost = True
        if self._runner is not None:
            self._runner.abandon()

    async def _run(self) -> str:
        lock = await self._lock()
        if lock is None:
            return NOT_READY
        try:
            is_startable = self._is_startable()
        except BaseException:
            lock.release()
            raise
        if not is_startable:
            lock.release()
            return NOT_READY
        self._runner = TaskRunner(self.task, lock, self._services, self.lease)
        work = asyncio.create_task(self._runner.run())
        self._apply_requests()
        await asyncio.wait({work})
        if self._is_lost or self.lease.is_over:
            _ = work.exception()
            self._runs.note_lost(self.task)
            raise GivenBack("lost", 0.1)
        return self._read_end(work)

    def _read_end(self, work: asyncio.Task[State]) -> str:
        try:
            state = work.result()
        except Fenced:
            return NOT_READY
        if self._is_stopping and self._is_startable():
            raise GivenBack("stopped", 0.1)
        self._runs.note_end(state)
        return str(state.status)

    def _is_startable(self) -> bool:
        return is_startable(self._services.journal, self.task, self._services.clock.now())

    def _give_back(self, error: Exception) -> GivenBack:
        """Leave the task to another worker after an error; its text stays here, not on the server."""
        known = error if isinstance(error, OstlerError) else to_machine_error(error)
        if known is None:
            _log.error("task %s could not be run; it is tried again later", self.task, exc_info=error)
            return GivenBack("failed", _BUG_SECONDS)
        self._runs.note_error(known)
        return GivenBack("host-failed", _FAILED_SECONDS)

    async def _lock(self) -> LockHandle | None:
        """Lock the task on this machine, where the last attempt may still be ending; None: it is gone."""
        until = self._services.clock.monotonic() + _LOCK_SECONDS
        while True:
            row = self._services.journal.row(self.task)
            if row is None:
                return None
            state = decode_state(row)
            self._runs.require_known(state)
            if (hold := find_hold(state, self._services)) is not None:
                seconds = (hold.until or float("inf")) - self._services.clock.now()
                raise GivenBack("held", max(1.0, min(seconds, _HOLD_SECONDS)))
            if (lock := try_lock_task(row, self._services)) is not None:
                return lock
            if self._is_stopping or self._is_lost:
                raise GivenBack("stopped", 0.1)
            if self._services.clock.monotonic() >= until:
                raise GivenBack("locked", _FAILED_SECONDS)
            await self._services.clock.sleep(_LOCK_POLL_SECONDS)

    def _apply_requests(self) -> None:
        """Apply what was requested before the runner existed."""
        if self._is_lost:
            self.abandon()
        elif self._is_stopping:
            self.stop()
