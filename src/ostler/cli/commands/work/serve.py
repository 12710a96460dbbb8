"""ostler serve"""

from __future__ import annotations

import asyncio
import errno
import os
import socket

import click

from ostler.cli.commands.work.run import show_progress
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.signals import SignalHandler
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.progress import open_progress
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.errors import UsageError
from ostler.model.outcome import Outcome
from ostler.process.orphans import become_subreaper
from ostler.project.active_runs import register_run
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_start
from ostler.project.project import Project
from ostler.project.worker import Worker
from ostler.text import describe_os_error
from ostler.web.address import listen, request_one_time_url
from ostler.web.server import WebServer


@click.command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help="The port; 0 selects a free one.")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help='Tasks to run in parallel, or "auto".')
@click.option("--view-only", is_flag=True, help="Show the dashboard without running tasks.")
@json_option
def command(port: int | None, jobs: int | None, view_only: bool, as_json: bool) -> int:
    """Run ready tasks, as ostler worker does, and serve the dashboard.

    It listens on this machine only. The printed URL works once; run ostler serve again in the same project
    to print a new one.

    Ctrl-C stops the agents and keeps all work; press it again to stop at once.
    """
    flags = {"run.jobs": jobs, "server.port": port}
    overrides = {key: value for key, value in flags.items() if value is not None}
    with open_project(overrides, create=not view_only) as project:
        return serve(project, view_only, as_json)


def serve(project: Project, view_only: bool, as_json: bool) -> int:
    """Serve until a signal arrives; return the exit code."""
    server, source = project.settings.server, project.loaded.sources["server.port"]
    port = server.port if source.layer == "flag" else None
    if address := request_one_time_url(project.layout, port, runs_tasks=not view_only):
        _print_address(address, as_json)
        return 0
    if not view_only:
        print_warnings(check_start(project))
    try:
        listener = listen(server.host, server.port)
    except OSError as error:
        raise _listen_error(server.host, server.port, error) from None
    return asyncio.run(_serve(project, listener, view_only, as_json))


async def _serve(project: Project, listener: socket.socket, view_only: bool, as_json: bool) -> int:
    become_subreaper()
    ignore_closed_output()
    if view_only:
        web = WebServer(project, listener, os.environ, runs_tasks=False)
        return await _serve_until_stopped(
            _Viewer(project), web, as_json, "View only: no tasks are run; stop with Ctrl-C."
        )
    print_unconfined(project)
    ostler = Ostler(project, os.environ, print_message=print_hint)
    try:
        worker = Worker(ostler, print_hint)
        web = WebServer(
            project, listener, os.environ, runs_tasks=True, pools=ostler.pools, problems=worker.problems
        )
        with register_run(project.layout):
            return await _serve_until_stopped(worker, web, as_json, "Running ready tasks; stop with Ctrl-C.")
    finally:
        await ostler.close()


async def _serve_until_stopped(work: Worker | _Viewer, web: WebServer, as_json: bool, greeting: str) -> int:
    """Print the URL, show progress in the terminal and return the exit code."""
    signals = SignalHandler(work)
    try:
        _print_address(web.site.make_one_time_url(), as_json)
        if not as_json:
            print_hint(greeting)
        running = asyncio.create_task(work.run())
        await show_progress(work, running, open_progress(as_json, {}, work.project.layout), None)
    finally:
        # In a thread, so that a second Ctrl-C is still handled.
        await asyncio.to_thread(web.close)
    return signals.exit_code


class _Viewer:
    """A run without tasks, for --view-only."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def flush(self) -> None:
        """Nothing is buffered."""

    async def run(self) -> list[Outcome]:
        await self._stopped.wait()
        return []


def _print_address(address: str, as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.server/1", "url": address})
    else:
        print_text(f"Dashboard: {address}\n")


def _listen_error(host: str, port: int, error: OSError) -> UsageError:
    in_use = f"port {port} of {host} is in use by another program"
    reason = (
        in_use
        if error.errno == errno.EADDRINUSE
        else f"cannot listen on {host}:{port}: {describe_os_error(error)}"
    )
    return UsageError(reason, "ostler serve --port 0   selects a free port")
