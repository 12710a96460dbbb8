"""The slots of a worker: it asks for a task only when it can run one more."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Literal

from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)

_POLL_SECONDS = 0.1


class TaskSlots(CustomSlotSupplier):
    """One slot for each task that runs, shared by the queues of a worker.

    Each queue holds a slot while it asks for a task, so a worker with several queues may get more tasks than
    it has jobs; it gives those back.
    """

    def __init__(self, has_room: Callable[[int], bool]) -> None:
        self._has_room = has_room  # given the number of tasks that run
        self._used: set[SlotPermit] = set()
        self._asking: dict[str, set[SlotPermit]] = defaultdict(set)  # by queue

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        # A queue has one poller: when it asks again, its last slot has a task, even if that is noted later.
        while not self._has_room(len(self._used) + len(self._asking[ctx.task_queue])):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        permit = SlotPermit()
        self._asking[ctx.task_queue].add(permit)
        return permit

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        self._end_asking(ctx.permit)
        self._used.add(ctx.permit)

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        self._end_asking(ctx.permit)
        self._used.discard(ctx.permit)

    def _end_asking(self, permit: SlotPermit) -> None:
        for asking in self._asking.values():
            asking.discard(permit)


def create_tuner(activities: CustomSlotSupplier | Literal[1]) -> WorkerTuner:
    """Return the slots of one worker of the SDK."""
    small = FixedSizeSlotSupplier(1)
    return WorkerTuner.create_composite(
        workflow_supplier=FixedSizeSlotSupplier(20),
        activity_supplier=FixedSizeSlotSupplier(activities) if isinstance(activities, int) else activities,
        local_activity_supplier=small,
        nexus_supplier=small,
    )
