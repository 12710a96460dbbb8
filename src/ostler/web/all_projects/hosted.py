"""One project of a server of several: opened when possible, and run if no other process runs its tasks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ostler.calls.models.slots import PoolStats
from ostler.errors import Code, OstlerError
from ostler.model.outcome import Outcome
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_start, is_cluster
from ostler.project.project import Project
from ostler.project.registry.known_projects import KnownProject
from ostler.project.running.active_runs import list_active_runs, register_run
from ostler.project.running.worker import Worker
from ostler.web.address import PROJECT_PREFIX
from ostler.web.keys import Keys
from ostler.web.responses import record_bug
from ostler.web.site import Site

_RETRY_SECONDS = 15.0  # after a project could not be opened, or its tasks could not be run
HostingState = Literal["running", "viewing", "elsewhere", "stopped", "unavailable", "gone"]


class HostOptions(Struct, frozen=True):
    """What all projects of a server share."""

    address: str
    keys: Keys
    environ: Mapping[str, str]
    flags: Mapping[str, object]
    view_only: bool
    print_message: Callable[[str], None]
    close_site: Callable[[Site], None]


class HostedProject:
    """Changed by the main thread only; the thread of the server reads it."""

    def __init__(self, known: KnownProject, options: HostOptions) -> None:
        self.known = known
        self.title = known.name  # the name of its directory, and of the one above if another has the same
        self.site: Site | None = None  # while the project is open
        self.state: HostingState = "unavailable"
        self.problem: OstlerError | None = None  # why it is not open, or why its tasks do not run
        self._options = options
        self._project: Project | None = None
        self._ostler: Ostler | None = None
        self._worker: Worker | None = None
        self._running: asyncio.Task[list[Outcome]] | None = None
        self._is_stopped = False
        self._retry_at = 0.0

    @property
    def path(self) -> str:
        """The prefix of its paths on the server."""
        return f"{PROJECT_PREFIX}{self.known.name}"

    async def check(self) -> None:
        """Open the project and start its worker when that is possible now; called every few seconds."""
        if self.known.is_gone:
            self._leave()
            return
        if self._running is not None and self._running.done():
            self._report_end(self._running)
            self._running = None
        if self._running is not None or time.monotonic() < self._retry_at:
            return
        try:
            if self._project is None:
                await self._open()
            if self._project is not None and not self._options.view_only and not self._is_stopped:
                self._start(self._project)
        except OstlerError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001  (a bug in one project must not end the others)
            self._fail(record_bug(error, Path(self.known.root)))

    def stop(self) -> None:
        """Stop the active tasks in a resumable state."""
        self._is_stopped = True
        if self._project is not None:
            self._project.journal.stop_request.set()
        if self._worker is not None:
            self._worker.stop()

    async def close(self) -> None:
        """Stop the worker and wait for its end; the pages are served until the site is closed."""
        self.stop()
        if self._running is not None:
            await asyncio.wait({self._running})
            if not self._running.cancelled() and (error := self._running.exception()) is not None:
                self._print(str(error))
            self._running = None

    def close_site(self) -> None:
        """End the pages of the project."""
        if (site := self.site) is not None:
            self.site = None
            self._options.close_site(site)

    def release(self) -> None:
        """Close the project, after the site was closed."""
        if self._project is not None:
            self._project.journal.close()
            self._project = None
        self._is_stopped = False  # its directory may come back

    def _leave(self) -> None:
        """Stop serving a project whose directory is gone; its worker ends by itself."""
        if self.state != "gone":
            self.stop()
            self.close_site()
            self._set(
                "gone",
                OstlerError(
                    Code.STORE_UNAVAILABLE,
                    f"{self.known.root} has no project any more",
                    f"restore it, or run ostler projects forget {self.known.name}",
                ),
            )
            self._print(f"{self.known.root} has no project any more")
        if self._running is None or self._running.done():
            self._running = None
            self.release()

    async def _open(self) -> None:
        # In a thread: a store on a server that does not answer must not delay the runs of other projects.
        self._project, self.site = await asyncio.to_thread(self._open_site)
        for note in self._project.notes:
            self._print(note)
        self._set("viewing")

    def _open_site(self) -> tuple[Project, Site]:
        options = self._options
        project = Project.open(Path(self.known.root), options.environ, options.flags)
        try:
            _ = project.settings  # the pages need them
            site = Site(
                project,
                options.address,
                options.keys,
                options.environ,
                runs_tasks=False,
                name=self.known.name,
                pools=self._pools,
                problems=self._problems,
            )
        except OstlerError:
            project.journal.close()
            raise
        return project, site

    def _start(self, project: Project) -> None:
        """Start the worker, unless another process or workers of a cluster run the tasks."""
        if is_cluster(project.settings):
            self._set("elsewhere")
            return
        if others := list_active_runs(project.layout):
            pids = ", ".join(str(one.pid) for one in others)
            self._set("elsewhere", OstlerError(Code.STATE_BUSY, f"process {pids} runs its tasks"))
            return
        for warning in check_start(project):
            self._print(f"warning: {warning.text}")
        self._running = asyncio.create_task(self._run(project))
        self._set("running")

    async def _run(self, project: Project) -> list[Outcome]:
        assert self.site is not None
        ostler = self._ostler = Ostler(project, self._options.environ, print_message=self._print)
        try:
            self._worker = Worker(ostler, self._print)
            with register_run(project.layout):
                self.site.runs_tasks = True
                return await self._worker.run()
        finally:
            self.site.runs_tasks = False
            self._worker = None
            self._ostler = None
            await ostler.close()

    def _report_end(self, ended: asyncio.Task[list[Outcome]]) -> None:
        error = None if ended.cancelled() else ended.exception()
        if isinstance(error, OstlerError):
            self._fail(error)
        elif isinstance(error, Exception):
            self._fail(record_bug(error, Path(self.known.root)))

    def _fail(self, error: OstlerError) -> None:
        is_new = self.problem is None or self.problem.message != error.message
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        self._set("unavailable" if self._project is None else "stopped", error)
        if is_new:
            self._print(f"{error.message}  Next: {error.hint}" if error.hint else error.message)

    def _set(self, state: HostingState, problem: OstlerError | None = None) -> None:
        self.problem = problem
        self.state = state

    def _pools(self) -> Mapping[str, PoolStats]:
        ostler = self._ostler
        return ostler.pools() if ostler is not None else {}

    def _problems(self) -> tuple[str, ...]:
        """Return why ready tasks cannot run; called by the threads of the server."""
        worker, problem = self._worker, self.problem
        reasons = worker.problems() if worker is not None else ()
        return (*reasons, problem.message) if problem is not None else reasons

    def _print(self, message: str) -> None:
        self._options.print_message(f"{self.known.name}: {message}")


def server_environ() -> dict[str, str]:
    """Return the environment without the variable that names one project."""
    return {name: value for name, value in os.environ.items() if name != "OSTLER_PROJECT"}
