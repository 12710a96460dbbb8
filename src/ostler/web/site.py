"""What all requests share: the project, the keys, and the threads that handle requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar

from ostler.calls.models.slots import PoolStats
from ostler.errors import Code, StateError
from ostler.files.layout import Layout
from ostler.project.accepting.pull_requests import PullRequests
from ostler.project.project import Project
from ostler.project.tasks.lists.change_sizes import ChangeSizes
from ostler.views.agent_work.live import Live
from ostler.web.broadcaster import EventBroadcaster
from ostler.web.keys import Keys

T = TypeVar("T")
_ANSWER_SECONDS = 8.0  # of a project whose answer is one part of an answer about several
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
        name: str = "",
        pools: Callable[[], Mapping[str, PoolStats]] = dict,
        problems: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self.layout: Layout = project.layout
        self._project = project  # only what every thread may use: its settings and its store
        self.address = address
        self.keys = keys
        self.environ = environ
        self.runs_tasks = runs_tasks
        self._name = name  # in a server of several projects
        self.pools = pools
        self.problems = problems
        self.live = Live()
        self.sizes = ChangeSizes()
        self.pull_requests = PullRequests()
        self._quick = ThreadPoolExecutor(_QUICK, "web")
        self._slow = ThreadPoolExecutor(_SLOW, "web-slow")
        self._thread_local = local()
        self._lock = Lock()
        self._open: list[Project] = []
        self._late: set[asyncio.Future[Any]] = set()  # calls that still run after their time
        self.broadcaster = EventBroadcaster(self.open_project().journal, lambda: self.open_project().journal)

    @property
    def bugs(self) -> Path:
        """The directory of bugs.log."""
        return self.layout.view

    def make_one_time_url(self) -> str:
        """Return a URL that logs a browser in, once."""
        start = f"&project={self._name}" if self._name else ""
        return f"{self.address}/open?key={self.keys.create_key()}{start}"

    async def call(self, act: Callable[[Site, Project, Any], T], request: Any, *, slow: bool = False) -> T:
        """Call a function in a thread, with the project of that thread."""
        threads = self._slow if slow else self._quick
        return await asyncio.get_running_loop().run_in_executor(threads, self._call, act, request)

    async def call_in_time(
        self, act: Callable[[Site, Project, Any], T], request: Any, *, slow: bool = False
    ) -> T:
        """Call a function as `call` does; raise STORE_UNAVAILABLE if that takes long, as its store hangs.

        While such a call still runs, others are refused at once.
        """
        late = StateError(Code.STORE_UNAVAILABLE, f"{self.layout.root} does not answer", "check its store")
        if self._late:
            raise late
        calling = asyncio.ensure_future(self.call(act, request, slow=slow))
        done, _ = await asyncio.wait({calling}, timeout=_ANSWER_SECONDS)
        if not done:
            self._late.add(calling)
            calling.add_done_callback(self._note_end)
            raise late
        return calling.result()

    def _note_end(self, calling: asyncio.Future[Any]) -> None:
        self._late.discard(calling)
        if not calling.cancelled():
            calling.exception()  # the next call raises it again

    def close(self) -> None:
        """Close all projects after the running requests."""
        for threads in (self._quick, self._slow):
            threads.shutdown(cancel_futures=True)
        self.broadcaster.close_threads()
        for project in self._open:
            project.journal.close()

    def open_project(self) -> Project:
        """Open another project; it is closed with the site."""
        project = self._project.open_again(self.environ)
        with self._lock:
            self._open.append(project)
        return project

    def _call(self, act: Callable[[Site, Project, Any], T], request: Any) -> T:
        if not hasattr(self._thread_local, "project"):
            self._thread_local.project = self.open_project()
        return act(self, self._thread_local.project, request)
