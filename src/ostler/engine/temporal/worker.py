"""A worker of a cluster: runs tasks that the Temporal server gives it, until it is stopped.

The engine's loop is that of the caller; everything that talks to the server has a thread of its own, so that
heartbeats go on while the journal does not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker, WorkerTuner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from ostler.config.cluster import EngineSettings
from ostler.engine.journal_watch import WakeUp, watch_journal
from ostler.engine.steps.services import StepServices
from ostler.engine.temporal.activities import Activities
from ostler.engine.temporal.board_run import BoardRuns
from ostler.engine.temporal.connection import connect
from ostler.engine.temporal.identity import name_worker
from ostler.engine.temporal.names import TaskOrder, advise_other_queue, board_queue, task_queue
from ostler.engine.temporal.slots import TaskSlots, create_tuner
from ostler.engine.temporal.starter import Starter
from ostler.engine.temporal.task_runs import TaskRuns
from ostler.engine.temporal.thread import LoopThread
from ostler.engine.temporal.workflows import BoardWorkflow, TaskWorkflow
from ostler.errors import OstlerError
from ostler.model.attempt import TaskRow

_POLL_SECONDS = 0.1
_BOARD_SECONDS = 5.0  # between two checks that the board's workflow exists
_ROOM_SECONDS = 0.2  # between two looks at the settings and the free memory
_GRACE = timedelta(days=1)  # work ends because it is stopped, not because the SDK cancels it
_LEAVE_SECONDS = 5.0  # for the last answers to the server; it notices a lost worker anyway


class TemporalWorker:
    """One worker process."""

    def __init__(
        self,
        services: StepServices,
        settings: EngineSettings,
        environ: Mapping[str, str],
        *,
        labels: Sequence[str],
        read_jobs: Callable[[], int],
        print_message: Callable[[str], None],
        greeting: str,  # printed when it is connected; empty: nothing
    ) -> None:
        self._services = services
        self._greeting = greeting
        self._settings = settings
        self._environ = environ
        self._labels = labels
        self._print_message = print_message
        self._tasks = TaskRuns(services, read_jobs, print_message)
        self._thread = LoopThread("temporal-client")
        self._stopped = asyncio.Event()
        self._error: OstlerError | None = None

    def stop(self) -> None:
        """Take no further task, stop the running ones and keep their work; `run` then returns."""
        self._stopped.set()

    async def run(self) -> None:
        """Run tasks until stopped."""
        self._thread.start()
        try:
            identity = name_worker(self._services.host, self._labels)
            client = await self._thread.call(connect(self._settings, self._environ, identity))
            await self._run(client)
        finally:
            self._thread.stop()
        if self._error is not None:
            raise self._error

    async def _run(self, client: Client) -> None:
        starter = Starter(client, self._settings, self._services.journal.store_id)

        async def start(order: TaskOrder, row: TaskRow, *, replaces: bool = False) -> bool:
            return await self._thread.call(starter.start_task(order, row, replaces=replaces))

        seconds = self._settings.heartbeat_seconds
        boards = BoardRuns(self._services, start, seconds, self._tasks.wake, self._print_message)
        activities = Activities(client, asyncio.get_running_loop(), self._tasks, boards)
        await self._thread.call(starter.start_board())
        if self._greeting:
            self._print_message(self._greeting)
        if other := await self._thread.call(starter.find_other_queue()):
            self._print_message(
                f"the board of the project gives tasks to the queue {other}, which this worker does not poll"
                f"  Next: {advise_other_queue(other, self._settings.namespace)}"
            )
        leave = asyncio.Event()
        polling = asyncio.create_task(self._thread.call(self._poll(client, activities, leave)))
        watching = asyncio.create_task(self._watch(boards))
        keeping = asyncio.create_task(self._keep_board(starter))
        measuring = asyncio.create_task(self._update_room())
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            lasting = {polling, watching, keeping, measuring}
            await asyncio.wait({*lasting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._tasks.stop()
            boards.stop()
            self._thread.notify(leave.set)
            await self._wait_for_end(polling)
            for one in (watching, keeping, measuring, stopped):
                one.cancel()
        for one in lasting:
            if one.done() and not one.cancelled():
                one.result()

    async def _wait_for_end(self, polling: asyncio.Task[None]) -> None:
        """Wait until all runs have ended and the server has their results."""
        await self._tasks.wait_until_idle()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(polling), _LEAVE_SECONDS)

    async def _poll(self, client: Client, activities: Activities, leave: asyncio.Event) -> None:
        """Take work from the queues until it is stopped; runs on the loop of the client."""
        slots = TaskSlots(self._tasks.has_room)
        queue = self._settings.queue
        workers = [
            _create_worker(client, task_queue(queue), create_tuner(slots), activities, runs_workflows=True),
            *(
                _create_worker(client, task_queue(queue, label), create_tuner(slots), activities)
                for label in self._labels
            ),
            _create_worker(client, board_queue(queue), create_tuner(1), activities),
        ]
        runs = [asyncio.create_task(worker.run()) for worker in workers]
        leaving = asyncio.create_task(leave.wait())
        await asyncio.wait({*runs, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        await asyncio.gather(*(worker.shutdown() for worker in workers))
        await asyncio.gather(*runs)

    async def _watch(self, boards: BoardRuns) -> None:
        """Wake the runs and the board when another process has written; end when the journal is lost."""
        services = self._services

        def wake() -> None:
            self._tasks.wake()
            boards.wake()

        wake_up = WakeUp(services.store)
        try:
            self._error = await watch_journal(services.journal, _POLL_SECONDS, wake, wake_up.sleep)
        finally:
            wake_up.close()

    async def _keep_board(self, starter: Starter) -> None:
        """Start the board again if somebody has ended its workflow; report a server that does not answer."""
        is_reported = False
        while True:
            await asyncio.sleep(_BOARD_SECONDS)
            try:
                await self._thread.call(starter.start_board())
            except OstlerError as error:
                if not is_reported:
                    self._print_message(f"{error.message}; trying again")
                is_reported = True
                continue
            if is_reported:
                self._print_message(f"the Temporal server at {self._settings.address} answers again")
            is_reported = False

    async def _update_room(self) -> None:
        """Compute on the engine's loop what the pollers ask for on theirs."""
        while True:
            self._tasks.update_room()
            await asyncio.sleep(_ROOM_SECONDS)


def create_runner() -> SandboxedWorkflowRunner:
    """Return the runner of the workflows: modules that hold no state of a workflow are not loaded again."""
    return SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules("ostler", "msgspec")
    )


def _create_worker(
    client: Client, queue: str, tuner: WorkerTuner, activities: Activities, *, runs_workflows: bool = False
) -> Worker:
    """Create a worker of the SDK: one poller of each kind, as the open poll of a dead worker loses a task."""
    return Worker(
        client,
        task_queue=queue,
        workflows=[TaskWorkflow, BoardWorkflow] if runs_workflows else [],
        activities=[activities.run_task, activities.run_board],
        workflow_runner=create_runner(),
        tuner=tuner,
        # A history has about ten events, so a workflow need not stay with the worker that began it.
        max_cached_workflows=0,
        max_concurrent_workflow_task_polls=1 if runs_workflows else None,
        max_concurrent_activity_task_polls=1,
        graceful_shutdown_timeout=_GRACE,
        disable_eager_activity_execution=True,
    )
