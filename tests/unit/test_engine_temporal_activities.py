"""The activities of a worker: when they begin, and what they report."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from temporalio.client import AsyncActivityHandle, Client
from temporalio.service import RPCError, RPCStatusCode

from ostler.engine.temporal.activities import Activities
from ostler.engine.temporal.board_run import BoardRuns
from ostler.engine.temporal.task_runs import TaskRuns
from ostler.process.lease import Lease

HEARTBEAT_SECONDS = 0.3


class Order:
    """What the server answers about one order."""

    def __init__(self, *, is_current: bool) -> None:
        self._is_current = is_current
        self.results: list[object] = []

    async def heartbeat(self) -> None:
        await asyncio.sleep(0.05)
        if not self._is_current:
            raise RPCError("gone", RPCStatusCode.NOT_FOUND, b"")

    async def complete(self, result: object) -> None:
        self.results.append(result)


class Work:
    """Work that notes whether it was begun."""

    def __init__(self) -> None:
        self.lease = Lease(HEARTBEAT_SECONDS)
        self.is_begun = False

    async def run(self) -> str:
        self.is_begun = True
        return "completed"

    def stop(self) -> None: ...

    def abandon(self) -> None: ...


@pytest.mark.parametrize("is_current", [True, False])
def test_work_begins_when_the_server_has_confirmed_its_order(is_current: bool) -> None:
    """A worker that was frozen while it asked for work gets an order that another one may have by now."""
    order, work = Order(is_current=is_current), Work()

    async def scene() -> None:
        client, tasks, boards = cast(Client, None), cast(TaskRuns, None), cast(BoardRuns, None)
        activities = Activities(client, asyncio.get_running_loop(), tasks, boards)
        await activities._do(work, cast(AsyncActivityHandle, order), HEARTBEAT_SECONDS)

    asyncio.run(asyncio.wait_for(scene(), 10))
    assert work.is_begun is is_current
    assert order.results == (["completed"] if is_current else [])
