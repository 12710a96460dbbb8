"""The projects of a server: they follow the list of the user; one that fails does not affect the others."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ostler.errors import OstlerError
from ostler.files.user_state import require_user_state
from ostler.project.registry.known_projects import KnownProjects
from ostler.web.all_projects.hosted import HostedProject, HostOptions
from ostler.web.keys import Keys
from ostler.web.site import Site

_CHECK_SECONDS = 2.0
_USED_SECONDS = 60.0  # how often a visit is recorded


class ProjectHost:
    """The main thread changes the projects; the thread of the server reads them."""

    def __init__(self, options: HostOptions) -> None:
        self.projects: dict[str, HostedProject] = {}  # by name; replaced as a whole
        self.view_only = options.view_only
        self.keys: Keys = options.keys
        self._options = options
        self._known = KnownProjects(options.environ)
        self._stopped = asyncio.Event()
        self._dismissing: set[asyncio.Task[None]] = set()  # projects that were removed from the list

    @property
    def bugs(self) -> Path:
        """The directory of bugs.log."""
        return require_user_state(self._options.environ)

    def make_one_time_url(self) -> str:
        """Return a URL that logs a browser in, once."""
        return f"{self._options.address}/open?key={self.keys.create_key()}"

    async def call(self, act: Any, request: Any, *, slow: bool = False) -> object:
        """Call a handler of the server itself; those that read projects are asynchronous."""
        if inspect.iscoroutinefunction(act):
            return await act(self, None, request)
        return await asyncio.to_thread(act, self, None, request)

    def stop(self) -> None:
        """Stop all workers; `run` then returns."""
        self._stopped.set()
        for hosted in self.projects.values():
            hosted.stop()

    async def run(self) -> None:
        """Follow the list of projects until stopped."""
        while not self._stopped.is_set():
            await self.check()
            try:
                await asyncio.wait_for(self._stopped.wait(), _CHECK_SECONDS)
            except TimeoutError:
                continue
        await asyncio.gather(*(hosted.close() for hosted in self.projects.values()), *self._dismissing)

    async def check(self) -> None:
        """Add the new projects of the list, close those that were removed, and check each."""
        listed = {one.name: one for one in self._known.list()}
        removed = [one for name, one in self.projects.items() if name not in listed]
        self.projects = {
            name: self.projects.get(name) or HostedProject(one, self._options) for name, one in listed.items()
        }
        titles = make_titles([one.known.root for one in self.projects.values()])
        for hosted in self.projects.values():
            hosted.title = titles[hosted.known.root]
        for hosted in removed:
            dismissing = asyncio.create_task(_dismiss(hosted))
            self._dismissing.add(dismissing)
            dismissing.add_done_callback(self._dismissing.discard)
        for hosted in self.projects.values():
            await hosted.check()
            await asyncio.sleep(0)  # the workers of the others come first

    def record_visit(self, hosted: HostedProject) -> None:
        """Record that a person used a project, at most once a minute."""
        if time.time() - hosted.known.used_at > _USED_SECONDS:
            with suppress(OstlerError, OSError):  # its pages are shown all the same
                hosted.known = self._known.add(Path(hosted.known.root))

    def sites(self) -> dict[str, Site]:
        """Return the sites of the open projects by name."""
        return {name: one.site for name, one in self.projects.items() if one.site is not None}


async def _dismiss(hosted: HostedProject) -> None:
    hosted.close_site()
    await hosted.close()
    hosted.release()


def make_titles(roots: Sequence[str]) -> dict[str, str]:
    """Return the name of each directory; with the one above if another has the same name."""
    names = Counter(Path(root).name for root in roots)
    return {root: "/".join(Path(root).parts[-1 if names[Path(root).name] == 1 else -2 :]) for root in roots}
