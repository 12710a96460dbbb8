"""The web server in its own thread and event loop, so that it never delays a run."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from ostler.calls.models.slots import PoolStats
from ostler.project.project import Project
from ostler.web.address import ServerAddress, address_file, remove_address, write_address
from ostler.web.application import make_application
from ostler.web.browser_sessions import FILE_NAME, BrowserSessions
from ostler.web.connections import LimitedProtocol
from ostler.web.keys import Keys
from ostler.web.site import Site

_DATE_SECONDS = 1.0
_GRACE_SECONDS = 1  # for open requests at shutdown


class _Server(uvicorn.Server):
    """Waits for an event where uvicorn looks ten times a second whether it should end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopped = asyncio.Event()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # it sets the date of answers
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopped.wait(), _DATE_SECONDS)


class ServerThread:
    """Serves an application from its creation until it is closed."""

    def __init__(
        self, app: ASGIApp, listening_socket: socket.socket, end_streams: Callable[[], None]
    ) -> None:
        self._server = _Server(
            uvicorn.Config(
                app,
                http=LimitedProtocol,
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._socket = listening_socket
        self._end_streams = end_streams
        self._stop, self._loop = asyncio.Event(), asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, name="web", daemon=True)
        self._thread.start()

    def call_soon(self, act: Callable[[], object]) -> None:
        """Call a function in the event loop."""
        self._loop.call_soon_threadsafe(act)

    def close(self) -> None:
        """End all streams and release the port."""
        self.call_soon(self._stop.set)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve_until_stopped())

    async def _serve_until_stopped(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._socket]))
        await self._stop.wait()
        self._end_streams()
        self._server.should_exit = True
        self._server.stopped.set()
        await serving


class WebServer:
    """The server of one project; it serves from its creation until it is closed."""

    def __init__(
        self,
        project: Project,
        listening_socket: socket.socket,
        environ: Mapping[str, str],
        *,
        runs_tasks: bool,
        pools: Callable[[], Mapping[str, PoolStats]] = dict,
        problems: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        host, port = listening_socket.getsockname()[:2]
        keys = Keys(BrowserSessions(project.layout.state / FILE_NAME))
        self._file = address_file(project.layout)
        self._address = ServerAddress(os.getpid(), host, port, keys.token, runs_tasks)
        self.site = Site(
            project, self._address.url, keys, environ, runs_tasks=runs_tasks, pools=pools, problems=problems
        )
        write_address(self._file, self._address)
        app = make_application(self.site, port)
        self._thread = ServerThread(app, listening_socket, self.site.broadcaster.close)

    def call_soon(self, act: Callable[[], object]) -> None:
        """Call a function in the event loop."""
        self._thread.call_soon(act)

    def close(self) -> None:
        """End all streams and release the port."""
        self._thread.close()
        self.site.close()
        remove_address(self._file, self._address)
