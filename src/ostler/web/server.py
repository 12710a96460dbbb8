"""The web server in its own thread and event loop, so that it never delays a run."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from threading import Thread

import uvicorn

from ostler.calls.models.slots import PoolStats
from ostler.project.project import Project
from ostler.web.address import ServerAddress, remove_address, write_address
from ostler.web.application import make_application
from ostler.web.guard import Keys
from ostler.web.site import Site

_GRACE_SECONDS = 1  # for open requests at shutdown


class WebServer:
    """Serves from its creation until it is closed."""

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
        self._layout = project.layout
        keys = Keys(port)
        self._address = ServerAddress(os.getpid(), host, port, keys.token, runs_tasks)
        self.site = Site(
            project, self._address.url, keys, environ, runs_tasks=runs_tasks, pools=pools, problems=problems
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                make_application(self.site, port),
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
        write_address(self._layout, self._address)
        self._stop, self._loop = asyncio.Event(), asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all streams and release the port."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self.site.close()
        remove_address(self._layout, self._address)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve_until_stopped())

    async def _serve_until_stopped(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._socket]))
        await self._stop.wait()
        self.site.broadcaster.close()
        self._server.should_exit = True
        await serving
