"""Starts workflows on the Temporal server."""

from __future__ import annotations

from datetime import timedelta

from temporalio.client import Client
from temporalio.common import Priority, WorkflowIDConflictPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from ostler.config.cluster import EngineSettings
from ostler.engine.temporal.names import (
    BOARD_WORKFLOW,
    TASK_WORKFLOW,
    BoardOrder,
    TaskOrder,
    board_workflow_id,
    task_queue,
    task_workflow_id,
)
from ostler.engine.temporal.refusals import explain_call
from ostler.model.attempt import TaskRow

# The server's default of 10 s delays a takeover: the open poll of a stopped worker swallows a workflow task.
_TASK_TIMEOUT = timedelta(seconds=2)
_MAX_FAIRNESS_KEY = 64  # characters
_RPC_TIMEOUT = timedelta(seconds=5)


class Starter:
    """Starts the workflows of one store; used on the loop of the Temporal client."""

    def __init__(self, client: Client, settings: EngineSettings, store_id: str) -> None:
        self._client = client
        self._settings = settings
        self._store_id = store_id

    async def start_board(self) -> None:
        """Start the workflow of the board unless it is open."""
        order = BoardOrder(self._settings.queue, self._settings.heartbeat_seconds)
        try:
            await self._client.start_workflow(
                BOARD_WORKFLOW,
                order,
                id=board_workflow_id(self._store_id),
                task_queue=task_queue(order.queue),
                task_timeout=_TASK_TIMEOUT,
                rpc_timeout=_RPC_TIMEOUT,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )
        except RPCError as error:
            raise explain_call(self._settings, error) from None

    async def find_other_queue(self) -> str:
        """Return the queue of the board's tasks if it is not that of the settings, which were changed since.

        Empty: it is that of the settings.
        """
        try:
            board = self._client.get_workflow_handle(board_workflow_id(self._store_id))
            found = (await board.describe(rpc_timeout=_RPC_TIMEOUT)).task_queue
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return ""
            raise explain_call(self._settings, error) from None
        return found if found != task_queue(self._settings.queue) else ""

    async def start_task(self, order: TaskOrder, row: TaskRow, *, replaces: bool = False) -> bool:
        """Start the workflow of a task; return False if it is open already, and is not replaced."""
        policy = WorkflowIDConflictPolicy.TERMINATE_EXISTING if replaces else WorkflowIDConflictPolicy.FAIL
        try:
            await self._client.start_workflow(
                TASK_WORKFLOW,
                order,
                id=task_workflow_id(self._store_id, order.task),
                task_queue=task_queue(self._settings.queue),
                task_timeout=_TASK_TIMEOUT,
                rpc_timeout=_RPC_TIMEOUT,
                priority=find_priority(row),
                id_conflict_policy=policy,
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:
            raise explain_call(self._settings, error) from None
        return True


def find_priority(row: TaskRow) -> Priority:
    """Return the order of a task at the server: P0 comes first, and pipelines take turns.

    Servers without fairness ignore that; they run tasks of one priority in the order of their start.
    """
    return Priority(
        priority_key=int(row.priority.removeprefix("P")) + 1,
        fairness_key=row.pipeline[:_MAX_FAIRNESS_KEY] or None,
    )
