"""An activity continues only while its heartbeats are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.service import RPCError, RPCStatusCode

from ostler.engine.temporal.heartbeat import send_heartbeats
from ostler.process.lease import Lease

HEARTBEAT_SECONDS = 10.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while everything in it sleeps, so that load delays nothing."""

    _now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._now = max(self._now, self._scheduled[0]._when)
        super()._run_once()


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
    await asyncio.sleep(600)


def lose() -> None:
    raise RPCError("gone", RPCStatusCode.NOT_FOUND, b"")


def fail() -> None:
    raise RPCError("down", RPCStatusCode.UNAVAILABLE, b"")


def cancel() -> None:
    raise AsyncActivityCancelledError


def beat(server: Server) -> tuple[float, int]:
    """Send heartbeats until they end; return how long that took, and how often a stop was asked for."""
    stops: list[float] = []
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        beats = send_heartbeats(
            cast(AsyncActivityHandle, server),
            HEARTBEAT_SECONDS,
            Lease(HEARTBEAT_SECONDS, loop.time),
            on_answered=lambda: None,
            on_cancelled=lambda: stops.append(loop.time()),
        )
        runner.run(asyncio.wait_for(beats, 100 * HEARTBEAT_SECONDS))
        return loop.time(), len(stops)


def test_a_lost_activity_ends_at_once() -> None:
    """NOT_FOUND means that the server gave the task to another worker."""
    seconds, stops = beat(Server(lose))
    assert seconds == 0 and stops == 0


@pytest.mark.parametrize("silent", [hang, fail])
def test_an_activity_without_answers_ends_before_the_server_gives_it_away(
    silent: Callable[[], object],
) -> None:
    """Also when the call neither fails nor returns, as with a cut cable."""
    server = Server(accept, silent)
    seconds, _ = beat(server)
    assert HEARTBEAT_SECONDS * 0.7 <= seconds < HEARTBEAT_SECONDS
    assert server.calls > 2


def test_a_short_outage_disturbs_nobody() -> None:
    """Two heartbeats without an answer are followed by one that is answered."""
    server = Server(accept, fail, fail, accept, accept, accept, lose)
    beat(server)
    assert server.calls == 7


def test_a_cancelled_activity_keeps_its_lease_while_it_stops() -> None:
    """The work is saved meanwhile, so no other worker may have the task yet."""
    server = Server(accept, *(cancel for _ in range(8)), lose)
    seconds, stops = beat(server)
    assert stops == 8 and seconds > HEARTBEAT_SECONDS
