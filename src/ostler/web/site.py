"""What all requests share: the project, who may ask, and the threads that read for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import Any, TypeVar

from ostler.files.layout import Layout
from ostler.project.project import Project
from ostler.store.sqlite import SqliteJournal
from ostler.views.live import Live
from ostler.web.keys import Keys
from ostler.web.tide import Tide
from ostler.worker.slots import PoolStats

T = TypeVar("T")
_QUICK, _SLOW = 4, 3  # threads; those that may take seconds never stand before the others


class Site:
    """One server's. A thread that reads has a project of its own: a connection is for one thread."""

    def __init__(
        self,
        project: Project,
        address: str,
        keys: Keys,
        environ: Mapping[str, str],
        *,
        carries: bool,
        pools: Callable[[], Mapping[str, PoolStats]] = dict,
        troubles: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self.layout: Layout = project.layout
        self.loaded = project.loaded
        self.address = address
        self.keys = keys
        self.environ = environ
        self.carries = carries
        self.pools = pools
        self.troubles = troubles
        self.live = Live()
        self._quick = ThreadPoolExecutor(_QUICK, "web")
        self._slow = ThreadPoolExecutor(_SLOW, "web-slow")
        self._here = local()
        self._lock = Lock()
        self._open: list[Project] = []
        self.tide = Tide(self.open_project().journal)

    def one_time_address(self) -> str:
        """An address that lets a browser in, once."""
        return f"{self.address}/open?key={self.keys.make()}"

    async def perform(self, act: Callable[[Site, Project, Any], T], asked: Any, *, slow: bool = False) -> T:
        """Let a thread do it, with a project that is its own."""
        threads = self._slow if slow else self._quick
        return await asyncio.get_running_loop().run_in_executor(threads, self._act, act, asked)

    def close(self) -> None:
        """Let go of everything; what is being read is waited for."""
        for threads in (self._quick, self._slow):
            threads.shutdown(cancel_futures=True)
        for project in self._open:
            project.journal.close()

    def open_project(self) -> Project:
        """One more; closed with the site."""
        project = Project(self.layout, lambda: self.loaded, SqliteJournal(self.layout.database))
        with self._lock:
            self._open.append(project)
        return project

    def _act(self, act: Callable[[Site, Project, Any], T], asked: Any) -> T:
        if not hasattr(self._here, "project"):
            self._here.project = self.open_project()
        return act(self, self._here.project, asked)
