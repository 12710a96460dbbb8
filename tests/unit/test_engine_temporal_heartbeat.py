"""An activity goes on only while its heartbeats are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import cast

import pytest
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.service import RPCError, RPCStatusCode

from ostler.engine.temporal.heartbeat import send_heartbeats
from ostler.process.lease import Lease

HEARTBEAT_SECONDS = 0.3


class Server:
    """Answers heartbeats, one after the other, as told; the last answer is repeated."""

    def __init__(self, *answers: Callable[[], object]) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def heartbeat(self) -> None:
        self.calls += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if asyncio.iscoroutine(waiting := answer()):
            await waiting


def accept() -> None:
    return None


async def hang() -> None:
    await asyncio.sleep(60)


def lose() -> None:
    raise RPCError("gone", RPCStatusCode.NOT_FOUND, b"")


def fail() -> None:
    raise RPCError("down", RPCStatusCode.UNAVAILABLE, b"")


def cancel() -> None:
    raise AsyncActivityCancelledError


async def beat(server: Server, seconds: float = 10.0) -> tuple[float, int]:
    """Send heartbeats until they end; return how long that took, and how often a stop was asked for."""
    stops: list[float] = []
    started = time.monotonic()
    beats = send_heartbeats(
        cast(AsyncActivityHandle, server),
        HEARTBEAT_SECONDS,
        Lease(HEARTBEAT_SECONDS),
        on_answered=lambda: None,
        on_cancelled=lambda: stops.append(time.monotonic()),
    )
    await asyncio.wait_for(beats, seconds)
    return time.monotonic() - started, len(stops)


def test_a_lost_activity_ends_at_once() -> None:
    """NOT_FOUND means that the server gave the task to another worker."""
    seconds, stops = asyncio.run(beat(Server(lose)))
    assert seconds < HEARTBEAT_SECONDS / 2 and stops == 0


@pytest.mark.parametrize("silent", [hang, fail])
def test_an_activity_without_answers_ends_before_the_server_gives_it_away(
    silent: Callable[[], object],
) -> None:
    """Also when the call neither fails nor returns, as with a cut cable."""
    server = Server(accept, silent)
    seconds, _ = asyncio.run(beat(server))
    assert HEARTBEAT_SECONDS * 0.7 <= seconds <= HEARTBEAT_SECONDS * 1.5
    assert server.calls > 2


def test_a_short_outage_disturbs_nobody() -> None:
    """Two heartbeats without an answer are followed by one that is answered."""
    server = Server(accept, fail, fail, accept, accept, accept, lose)
    asyncio.run(beat(server))
    assert server.calls == 7


def test_a_cancelled_activity_keeps_its_lease_while_it_stops() -> None:
    """The work is saved meanwhile, so no other worker may have the task yet."""
    server = Server(accept, *(cancel for _ in range(8)), lose)
    seconds, stops = asyncio.run(beat(server))
    assert stops == 8 and seconds > HEARTBEAT_SECONDS
