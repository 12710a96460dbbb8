"""Heartbeats of one activity, as calls that the server answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.service import RPCError, RPCStatusCode

from ostler.process.lease import Lease

_BEATS = 5  # within one heartbeat timeout; three may fail before the lease is over


async def send_heartbeats(
    handle: AsyncActivityHandle,
    heartbeat_seconds: float,
    lease: Lease,
    on_answered: Callable[[], object],
    on_cancelled: Callable[[], object],
) -> None:
    """Send heartbeats until another attempt runs the task, or may soon because none is answered.

    `on_answered` is called while this attempt is the one that runs, `on_cancelled` while the server asks for
    a stop.
    """
    interval = heartbeat_seconds / _BEATS
    while True:
        sent_at = lease.read_clock()
        try:
            # The SDK repeats a call that fails, for longer than its own timeout.
            await asyncio.wait_for(handle.heartbeat(), interval)
            lease.extend(sent_at)
            on_answered()
        except AsyncActivityCancelledError:
            lease.extend(sent_at)
            on_answered()
            on_cancelled()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                # The engine's loop may be waiting for the journal; the keepers are not.
                lease.end()
                return
        except TimeoutError:
            pass  # the lease is checked below
        if lease.is_over:
            return
        await asyncio.sleep(max(0.0, sent_at + interval - lease.read_clock()))
