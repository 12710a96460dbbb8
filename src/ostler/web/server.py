"""The web server in a thread of its own, with its own loop: nothing that it does delays the run beside it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from threading import Thread

import uvicorn

from ostler.project.project import Project
from ostler.web.address import Listening, forget, note
from ostler.web.application import application
from ostler.web.keys import Keys
from ostler.web.site import Site
from ostler.worker.slots import PoolStats

_GRACE_SECONDS = 1  # for answers under way when the server is told to end


class WebServer:
    """Answers from the moment it is made until it is closed."""

    def __init__(
        self,
        project: Project,
        taken: socket.socket,
        environ: Mapping[str, str],
        *,
        carries: bool,
        pools: Callable[[], Mapping[str, PoolStats]] = dict,
        troubles: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        host, port = taken.getsockname()[:2]
        self._layout = project.layout
        keys = Keys(port)
        self._listening = Listening(os.getpid(), host, port, keys.token, carries)
        self.site = Site(
            project, self._listening.address, keys, environ, carries=carries, pools=pools, troubles=troubles
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(self.site, port),
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._taken = taken
        note(self._layout, self._listening)
        self._told, self._loop = asyncio.Event(), asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every open stream and let go of the port."""
        self._loop.call_soon_threadsafe(self._told.set)
        self._thread.join()
        self.site.close()
        forget(self._layout, self._listening)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_told())

    async def _until_told(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._taken]))
        await self._told.wait()
        self.site.tide.end()
        self._server.should_exit = True
        await serving
