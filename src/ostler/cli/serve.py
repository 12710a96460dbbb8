"""ostler serve"""

from __future__ import annotations

import asyncio
import errno
import os
import socket

import click

from ostler.cli.jobs import JOBS
from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.progress import showing
from ostler.cli.run import with_progress
from ostler.cli.signals import Signals
from ostler.cli.streams import outlive_readers
from ostler.errors import UsageError
from ostler.model.outcome import Outcome
from ostler.process.strays import become_subreaper
from ostler.project.at_work import at_work
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.worker import Worker
from ostler.web.address import ask_for_address, listen
from ostler.web.server import WebServer


@click.command("serve")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), help="Where to listen; 0 takes a free one."
)
@click.option("-j", "--jobs", metavar="N", type=JOBS, help="How many tasks run side by side.")
@click.option("--view-only", is_flag=True, help="Look on: run nothing.")
@json_option
def command(port: int | None, jobs: int | None, view_only: bool, as_json: bool) -> int:
    """Run what is due as ostler worker does, with a dashboard in your browser.

    It listens on this machine only. The address that it prints works once; asked for again in the same
    project, it prints a fresh one.

    Ctrl-C stops in good order and keeps everything; a second one stops at once.
    """
    flags = {"run.jobs": jobs, "server.port": port}
    given = {key: value for key, value in flags.items() if value is not None}
    with open_project(given, create=not view_only) as project:
        return serve(project, view_only, as_json)


def serve(project: Project, view_only: bool, as_json: bool) -> int:
    """Serve until told to stop; the exit code."""
    server, source = project.settings.server, project.loaded.sources["server.port"]
    asked = server.port if source.layer == "flag" else None
    if address := ask_for_address(project.layout, asked, carries=not view_only):
        _tell_address(address, as_json)
        return 0
    try:
        taken = listen(server.host, server.port)
    except OSError as error:
        raise _cannot_listen(server.host, server.port, error) from None
    return asyncio.run(_serve(project, taken, view_only, as_json))


async def _serve(project: Project, taken: socket.socket, view_only: bool, as_json: bool) -> int:
    become_subreaper()
    outlive_readers()
    if view_only:
        web = WebServer(project, taken, os.environ, carries=False)
        return await _show(_OnLooker(project), web, as_json, "It only looks on; Ctrl-C ends it.")
    ostler = Ostler(project, os.environ, tell=hint)
    try:
        worker = Worker(ostler, hint)
        web = WebServer(
            project, taken, os.environ, carries=True, pools=ostler.pools, troubles=worker.troubles
        )
        with at_work(project.layout):
            return await _show(worker, web, as_json, "Working on what is due; Ctrl-C ends it.")
    finally:
        await ostler.close()


async def _show(work: Worker | _OnLooker, web: WebServer, as_json: bool, greeting: str) -> int:
    """Let it work in sight of the browser and the terminal; the exit code."""
    signals = Signals(work)
    try:
        _tell_address(web.site.one_time_address(), as_json)
        if not as_json:
            hint(greeting)
        running = asyncio.create_task(work.run())
        await with_progress(work, running, showing(as_json, {}, work.project.layout), None)
    finally:
        await asyncio.to_thread(web.close)  # a second Ctrl-C is heard meanwhile
    return signals.exit


class _OnLooker:
    """Runs nothing, until it is told to stop."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def flush(self) -> None:
        """It has nothing to say."""

    async def run(self) -> list[Outcome]:
        await self._stopped.wait()
        return []


def _tell_address(address: str, as_json: bool) -> None:
    if as_json:
        emit({"schema": "ostler.server/1", "url": address})
    else:
        say(f"Dashboard: {address}\n")


def _cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    taken = f"port {port} of {host} is taken by another program"
    why = taken if error.errno == errno.EADDRINUSE else f"cannot listen on {host}:{port}: {error.strerror}"
    return UsageError(why, "ostler serve --port 0   takes a free one")
