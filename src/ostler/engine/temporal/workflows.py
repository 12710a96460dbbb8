"""The workflows: one activity each. They read no journal and no clock, so that their replay is exact.

The server runs the activity again, on any worker, when its worker is silent for longer than the heartbeat
timeout, or when it gives the work back. This adds nothing to the history of the workflow.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from ostler.engine.temporal.names import (
    BOARD_WORKFLOW,
    RUN_BOARD,
    RUN_TASK,
    TASK_WORKFLOW,
    BoardOrder,
    TaskOrder,
    board_queue,
)

# A task may run for months; the heartbeat finds a lost worker.
_NO_LIMIT = timedelta(days=3650)
_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=5),
)


@workflow.defn(name=TASK_WORKFLOW)
class TaskWorkflow:
    """One run of a task: from its start to the moment when it waits or has ended."""

    @workflow.run
    async def run(self, order: TaskOrder) -> str:
        return await workflow.execute_activity(
            RUN_TASK,
            order,
            result_type=str,
            task_queue=order.queue,
            start_to_close_timeout=_NO_LIMIT,
            heartbeat_timeout=timedelta(seconds=order.heartbeat_seconds),
            retry_policy=_RETRY,
        )


@workflow.defn(name=BOARD_WORKFLOW)
class BoardWorkflow:
    """The board of a store, as long as there are workers; each round is a workflow run of its own."""

    @workflow.run
    async def run(self, order: BoardOrder) -> None:
        await workflow.execute_activity(
            RUN_BOARD,
            order,
            task_queue=board_queue(order.queue),
            start_to_close_timeout=_NO_LIMIT,
            heartbeat_timeout=timedelta(seconds=order.heartbeat_seconds),
            retry_policy=_RETRY,
        )
        workflow.continue_as_new(order)
