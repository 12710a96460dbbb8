"""What a Temporal server reports of the workers and the board of a store, for `ostler cluster doctor`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, GetClusterInfoRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from ostler.config.cluster import EngineSettings
from ostler.engine.temporal.identity import read_worker_identity
from ostler.engine.temporal.names import board_workflow_id, task_queue
from ostler.engine.temporal.refusals import explain_call

# A poll is open for up to 60 s, and the server lists its poller for minutes after it.
_POLL_SECONDS = 70.0
_RPC_TIMEOUT = timedelta(seconds=5)


class WorkerFacts(Struct, frozen=True):
    """A worker that asks the server for work."""

    name: str
    labels: tuple[str, ...]


class QueueFacts(Struct, frozen=True):
    """Tasks that were given to the server and that no worker has taken."""

    label: str
    waiting: int
    waiting_seconds: float


class ServerFacts(Struct, frozen=True):
    version: str
    answer_seconds: float
    workers: tuple[WorkerFacts, ...]
    queues: tuple[QueueFacts, ...]
    has_board: bool | None  # None: of which store is not known
    board_queue: str = ""  # to which an open board gives its tasks


async def read_server(
    client: Client, settings: EngineSettings, store_id: str, labels: Sequence[str]
) -> ServerFacts:
    """Return the facts about the queues of these labels and the general one; raise an OstlerError."""
    service = client.workflow_service
    try:
        began = time.monotonic()
        cluster = await service.get_cluster_info(GetClusterInfoRequest(), timeout=_RPC_TIMEOUT)
        answer_seconds = time.monotonic() - began
        board = await _find_board_queue(client, store_id) if store_id else ""
        return ServerFacts(
            cluster.server_version,
            answer_seconds,
            await read_workers(client, settings),
            tuple([await _read_queue(client, settings, label) for label in ("", *labels)]),
            bool(board) if store_id else None,
            board,
        )
    except RPCError as error:
        raise explain_call(settings, error) from None


async def read_workers(client: Client, settings: EngineSettings) -> tuple[WorkerFacts, ...]:
    """Return the workers: each polls for workflows, also when it can take no further task.

    One that ended is returned for a minute.
    """
    request = DescribeTaskQueueRequest(
        namespace=settings.namespace,
        task_queue=TaskQueue(name=task_queue(settings.queue)),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    found = await client.workflow_service.describe_task_queue(request, timeout=_RPC_TIMEOUT)
    oldest = time.time() - _POLL_SECONDS
    names = {one.identity for one in found.pollers if one.last_access_time.seconds >= oldest}
    return tuple(WorkerFacts(*read_worker_identity(name)) for name in sorted(names))


async def _read_queue(client: Client, settings: EngineSettings, label: str) -> QueueFacts:
    request = DescribeTaskQueueRequest(
        namespace=settings.namespace,
        task_queue=TaskQueue(name=task_queue(settings.queue, label)),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    found = await client.workflow_service.describe_task_queue(request, timeout=_RPC_TIMEOUT)
    age = found.stats.approximate_backlog_age
    return QueueFacts(label, found.stats.approximate_backlog_count, age.seconds + age.nanos / 1e9)


async def _find_board_queue(client: Client, store_id: str) -> str:
    """Return the queue of the workflow that starts tasks; empty if it is not open."""
    try:
        found = await client.get_workflow_handle(board_workflow_id(store_id)).describe(
            rpc_timeout=_RPC_TIMEOUT
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return ""
        raise
    return found.task_queue if found.status is WorkflowExecutionStatus.RUNNING else ""
