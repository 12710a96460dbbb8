"""Limits of connections: slow or idle ones end, so that they cannot keep others out."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADER_SECONDS = 10.0  # for a complete header, and for what is left of the body of an answered request
MOST_CONNECTIONS = 512


class LimitedProtocol(H11Protocol):
    """A connection that is closed when its header takes too long, or to make room for a newer one."""

    _timer: asyncio.TimerHandle | None = None
    since: float = 0.0  # when it was opened

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        self._watch()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is handled: its header is not complete, or it is answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    def _watch(self) -> None:
        """Run the timer while data is missing; more data does not extend it."""
        is_waiting = self.is_idle and self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if not is_waiting:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._end)

    def _end(self) -> None:
        self._timer = None
        if self.is_idle:
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the idle connection that is open longest; without one, this one."""
        every = cast("set[object]", self.connections)
        idle = [one for one in every if isinstance(one, LimitedProtocol) and one.is_idle]
        min(idle, key=lambda one: one.since, default=self).transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
