"""What all requests share: the project, the keys, and the threads that handle requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import Any, TypeVar

from ostler.calls.models.slots import PoolStats
from ostler.files.layout import Layout
from ostler.project.project import Project
from ostler.store.sqlite import SqliteJournal
from ostler.views.live import Live
from ostler.web.broadcaster import EventBroadcaster
from ostler.web.guard import Keys

T = TypeVar("T")
_QUICK, _SLOW = 4, 3  # threads; slow requests have their own so that they do not delay quick ones


class Site:
    """The state of one server; each thread has its own project, since a connection belongs to one thread."""

    def __init__(
        self,
        project: Project,
        address: str,
        keys: Keys,
        environ: Mapping[str, str],
        *,
        runs_tasks: bool,
        pools: Callable[[], Mapping[str, PoolStats]] = dict,
        problems: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self.layout: Layout = project.layout
        self._load = lambda: project.loaded  # thread-safe; reads changed files
        self.address = address
        self.keys = keys
        self.environ = environ
        self.runs_tasks = runs_tasks
        self.pools = pools
        self.problems = problems
        self.live = Live()
        self._quick = ThreadPoolExecutor(_QUICK, "web")
        self._slow = ThreadPoolExecutor(_SLOW, "web-slow")
        self._thread_local = local()
        self._lock = Lock()
        self._open: list[Project] = []
        self.broadcaster = EventBroadcaster(self.open_project().journal)

    def make_one_time_url(self) -> str:
        """Return a URL that logs a browser in, once."""
        return f"{self.address}/open?key={self.keys.create_key()}"

    async def run_in_thread(
        self, act: Callable[[Site, Project, Any], T], request: Any, *, slow: bool = False
    ) -> T:
        """Call a function in a thread, with the project of that thread."""
        threads = self._slow if slow else self._quick
        return await asyncio.get_running_loop().run_in_executor(threads, self._call, act, request)

    def close(self) -> None:
        """Close all projects after the running requests."""
        for threads in (self._quick, self._slow):
            threads.shutdown(cancel_futures=True)
        for project in self._open:
            project.journal.close()

    def open_project(self) -> Project:
        """Open another project; it is closed with the site."""
        project = Project(self.layout, self._load, SqliteJournal(self.layout.database), self.environ)
        with self._lock:
            self._open.append(project)
        return project

    def _call(self, act: Callable[[Site, Project, Any], T], request: Any) -> T:
        if not hasattr(self._thread_local, "project"):
            self._thread_local.project = self.open_project()
        return act(self, self._thread_local.project, request)
