"""The activities of a worker: they run on the engine's loop and are supervised here, by heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from temporalio import activity
from temporalio.client import AsyncActivityHandle, Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from ostler.engine.temporal.board_run import BoardRuns
from ostler.engine.temporal.give_back import GivenBack
from ostler.engine.temporal.heartbeat import send_heartbeats
from ostler.engine.temporal.names import RUN_BOARD, RUN_TASK, BoardOrder, TaskOrder
from ostler.engine.temporal.task_runs import TaskRuns
from ostler.model.ids import TaskId
from ostler.process.lease import Lease

_T_co = TypeVar("_T_co", covariant=True)


class EngineWork(Protocol[_T_co]):
    """Work on the engine's loop; its methods are called there."""

    lease: Lease

    def run(self) -> Coroutine[Any, Any, _T_co]:
        """Do the work; raise GivenBack when another worker has to do it."""
        ...

    def stop(self) -> None:
        """End soon and keep everything that was done."""
        ...

    def abandon(self) -> None:
        """End at once and record nothing."""
        ...


class Activities:
    """Runs the activities of one worker; used on the loop of the Temporal client."""

    def __init__(
        self, client: Client, engine: asyncio.AbstractEventLoop, tasks: TaskRuns, boards: BoardRuns
    ) -> None:
        self._client = client
        self._engine = engine
        self._tasks = tasks
        self._boards = boards

    @activity.defn(name=RUN_TASK)
    async def run_task(self, order: TaskOrder) -> str:
        lease = Lease(order.heartbeat_seconds)
        await self._supervise(self._tasks.open(TaskId(order.task), lease), order.heartbeat_seconds)
        activity.raise_complete_async()

    @activity.defn(name=RUN_BOARD)
    async def run_board(self, order: BoardOrder) -> None:
        lease = Lease(order.heartbeat_seconds)
        await self._supervise(self._boards.open(order, lease), order.heartbeat_seconds)
        activity.raise_complete_async()

    async def _supervise(self, work: EngineWork[object], heartbeat_seconds: float) -> None:
        """Do the work and report its result to the server.

        The SDK does neither heartbeats nor results: without a heartbeat it cancels the activity after the
        heartbeat timeout and drops its result.
        """
        handle = self._client.get_async_activity_handle(task_token=activity.info().task_token)
        doing = asyncio.create_task(self._do(work, handle, heartbeat_seconds))
        while not doing.done():
            try:
                await asyncio.wait({doing})
            except asyncio.CancelledError:
                _ = (task := asyncio.current_task()) and task.uncancel()
        doing.result()

    async def _do(
        self, work: EngineWork[object], handle: AsyncActivityHandle, heartbeat_seconds: float
    ) -> None:
        """Do the work while heartbeats are answered.

        It begins after the first answer: a worker that was frozen while it asked for work finds an order that
        another worker may have got meanwhile, whose claim must not be taken from it.
        """
        is_current = asyncio.Event()
        beats = asyncio.create_task(
            send_heartbeats(
                handle,
                heartbeat_seconds,
                work.lease,
                on_answered=is_current.set,
                on_cancelled=lambda: self._engine.call_soon_threadsafe(work.stop),
            )
        )
        beats.add_done_callback(lambda _: self._engine.call_soon_threadsafe(work.abandon))
        answered = asyncio.create_task(is_current.wait())
        await asyncio.wait({answered, beats}, return_when=asyncio.FIRST_COMPLETED)
        answered.cancel()
        if not is_current.is_set():
            return
        running = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work.run(), self._engine))
        await asyncio.wait({running})
        # A result that does not reach the server is found in the journal by the next attempt.
        with suppress(RPCError):
            await _report(running, handle)
        beats.cancel()


async def _report(running: asyncio.Future[object], handle: AsyncActivityHandle) -> None:
    try:
        await handle.complete(running.result())
    except GivenBack as given_back:
        failure = ApplicationError(
            given_back.reason,
            type="GivenBack",
            next_retry_delay=timedelta(seconds=given_back.delay_seconds),
        )
        await handle.fail(failure)
