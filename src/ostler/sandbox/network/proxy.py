"""The proxy of one sandbox, outside of it: it connects to allowed hosts, the model and local services."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

from ostler.config.host import LOCALHOST, format_authority
from ostler.sandbox.network.addresses import Resolve, resolve_name
from ostler.sandbox.network.connect import Connector
from ostler.sandbox.network.forward import Forwarder
from ostler.sandbox.network.head import MessageInvalid
from ostler.sandbox.network.listeners import receive_listeners
from ostler.sandbox.network.local_peer import is_own_connection
from ostler.sandbox.network.model_gateway import ModelGateway
from ostler.sandbox.network.peer import Peer, accept_peer
from ostler.sandbox.network.policy import (
    PROXY_PORT,
    TIMEOUTS,
    CheckUsage,
    NetworkPolicy,
    OnRefusal,
    Timeouts,
)
from ostler.sandbox.network.refusals import Refusals
from ostler.sandbox.network.relay import relay
from ostler.sandbox.network.rules import HostRules
from ostler.sandbox.network.session import Session

_MAX_CONNECTIONS = 128  # at the same time; others wait
_MAX_LISTENERS = 64
_ACCEPT_PAUSE_SECONDS = 0.1


class Proxy:
    """Serves the listeners of a sandbox while its context is open; nothing is left afterwards."""

    def __init__(
        self,
        policy: NetworkPolicy,
        on_refusal: OnRefusal,
        check_usage: CheckUsage,
        *,
        environ: Mapping[str, str] | None = None,
        resolve: Resolve = resolve_name,
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        self._policy = policy
        self._timeouts = timeouts
        self._connector = Connector(os.environ if environ is None else environ, resolve)
        refusals = Refusals(on_refusal)
        route = policy.model
        model = None if route is None else ModelGateway(route, self._connector, refusals, check_usage)
        # A program that ignores NO_PROXY asks the proxy for a local service.
        local = (format_authority(LOCALHOST, port) for port in policy.local_ports)
        forwarder = Forwarder(HostRules((*policy.hosts, *local)), self._connector, refusals)
        self._session = Session(forwarder, model, refusals, timeouts)
        self._room = asyncio.Semaphore(_MAX_CONNECTIONS)
        self._listeners = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        while self._tasks:  # a task that ends may have started another one
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def attach(self, connection: socket.socket) -> None:
        """Receive listeners over a Unix socket, which is closed at its end, and serve each of them."""
        self._start(self._receive(connection), connection)

    def _start(self, work: Coroutine[Any, Any, None], owned: socket.socket) -> None:
        """Start the work on a socket, which is closed with it, also when it is cancelled before its start."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, owned))

    def _end(self, owned: socket.socket, task: asyncio.Task[None]) -> None:
        # Not a TaskGroup: a fault in one connection must not cancel the attempt.
        self._tasks.discard(task)
        owned.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a connection of the sandbox's proxy failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _receive(self, connection: socket.socket) -> None:
        async for port, listener in receive_listeners(connection):
            is_known = port == PROXY_PORT or port in self._policy.local_ports
            if is_known and self._listeners < _MAX_LISTENERS:
                self._listeners += 1
                self._start(self._listen(port, listener), listener)
            else:
                listener.close()

    async def _listen(self, port: int, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room.acquire()
            try:
                connection, client = await loop.sock_accept(listener)
            except OSError:  # such as too many open files
                self._room.release()
                await asyncio.sleep(_ACCEPT_PAUSE_SECONDS)
            except BaseException:
                self._room.release()
                raise
            else:
                if _is_of_other_user(port, client, listener.getsockname()):
                    connection.close()
                    self._room.release()
                else:
                    self._start(self._serve(port, connection), connection)

    async def _serve(self, port: int, connection: socket.socket) -> None:
        try:
            # A connection that breaks is the end of it, and no failure of the proxy.
            with suppress(OSError, EOFError, MessageInvalid):
                await self._serve_peer(port, await accept_peer(connection))
        finally:
            self._room.release()

    async def _serve_peer(self, port: int, client: Peer) -> None:
        try:
            await self._answer(port, client)
            await client.finish()
        finally:
            await client.abort()

    async def _answer(self, port: int, client: Peer) -> None:
        if port == PROXY_PORT:
            await self._session.serve(client)
            return
        server = await self._connector.open_local(port)
        try:
            await relay(client, server)
            await server.finish()
        finally:
            await server.abort()


def _is_of_other_user(port: int, client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Return whether a port of this machine, and not of a sandbox, was used by another user."""
    return server[1] != port and not is_own_connection(client, server)
