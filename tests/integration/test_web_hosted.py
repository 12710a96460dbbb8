"""What delays the server of all projects: a store that does not answer, and a lock."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from servers.postgres import PostgresServer

from ostler.files.lock import wait_for_lock
from ostler.project.project import Project
from ostler.project.registry.known_projects import KnownProject, KnownProjects
from ostler.web.all_projects.host import ProjectHost
from ostler.web.all_projects.hosted import HostedProject, HostOptions
from ostler.web.all_projects.inbox import show_merged_inbox
from ostler.web.all_projects.routes import list_projects
from ostler.web.browser_sessions import BrowserSessions
from ostler.web.keys import Caller, Keys
from ostler.web.requests import EmptyBody, InboxQuery
from ostler.web.route import Empty, RequestParts
from ostler.web.session import log_out


async def measure_longest_block(work: Coroutine[Any, Any, object]) -> float:
    """Return for how long the event loop did nothing else during this work."""
    working, longest = asyncio.create_task(work), 0.0
    while not working.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    await working
    return longest


def make_options(place: Path, printed: list[str]) -> HostOptions:
    keys = Keys(BrowserSessions(place / "sessions.json"))
    return HostOptions("", keys, dict(os.environ), {}, True, printed.append, lambda _: None)


@pytest.mark.full
def test_a_store_that_does_not_answer_delays_no_other_project(tmp_path: Path) -> None:
    """The runs of all projects share one event loop, which continues while the project is opened."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://ada@127.0.0.1:{silent.getsockname()[1]}/tasks"
        (tmp_path / "ostler.toml").write_text(f'[store]\nurl = "{url}"\n')
        printed: list[str] = []
        hosted = HostedProject(KnownProject("app", str(tmp_path), 0.0), make_options(tmp_path, printed))
        assert asyncio.run(measure_longest_block(hosted.check())) < 2
    assert hosted.state == "unavailable" and "cannot be used" in printed[0]


def test_a_locked_list_of_sessions_delays_no_other_request(tmp_path: Path) -> None:
    """Another process has the lock while it logs browsers out."""
    host = ProjectHost(make_options(tmp_path, []))
    host.keys.sessions.create("")
    caller = Caller(host.keys.sessions.list()[0])
    request = RequestParts({}, Empty(), EmptyBody(), caller)
    with ThreadPoolExecutor(1) as pool:
        held = wait_for_lock(tmp_path / "sessions.lock", 5)
        pool.submit(lambda: (time.sleep(1), held.release()))
        assert asyncio.run(measure_longest_block(host.call(log_out, request))) < 0.5
    assert host.keys.sessions.list() == ()


@pytest.mark.full
def test_a_store_that_hangs_hides_no_other_project(tmp_path: Path) -> None:
    """The inbox and the list of projects are answered without it, and have it again afterwards."""
    server = PostgresServer().start()
    options = make_options(tmp_path, [])
    for name, settings in {"hangs": f'[store]\nurl = "{server.new_database()}"\n', "works": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "ostler.toml").write_text(settings)
        Project.open(tmp_path / name, options.environ, create=True).journal.close()
        KnownProjects(options.environ).add(tmp_path / name)

    async def look(host: ProjectHost) -> tuple[list[str], tuple[str, ...], float]:
        """Return the projects with counts, those that the inbox lacks, and how long both took."""
        before = time.monotonic()
        inbox = await show_merged_inbox(host, None, RequestParts({}, InboxQuery(), Empty()))
        listed = await list_projects(host, None, RequestParts({}, Empty(), Empty()))
        counted = [one.name for one in listed.projects if one.counts is not None]
        return counted, inbox.unavailable, time.monotonic() - before

    async def play() -> None:
        host = ProjectHost(options)
        await host.check()
        assert (await look(host))[:2] == (["hangs", "works"], ())
        server.program.freeze()
        *found, seconds = await look(host)
        assert found == [["works"], ("hangs",)] and seconds < 15
        *found, seconds = await look(host)
        assert found == [["works"], ("hangs",)] and seconds < 2
        server.program.thaw()
        async with asyncio.timeout(60):
            while (await look(host))[:2] != (["hangs", "works"], ()):
                await asyncio.sleep(0.2)
        for hosted in host.projects.values():
            assert hosted.site is not None
            await asyncio.to_thread(hosted.site.close)
            hosted.release()

    try:
        asyncio.run(play())
    finally:
        server.program.thaw()
        server.close()
