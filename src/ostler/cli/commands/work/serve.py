"""ostler serve"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from functools import partial
from pathlib import Path

import click

from ostler.cli.commands.work.browser_list import show_sessions
from ostler.cli.event_loop import run_loop
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.signals import SignalHandler, stop_run
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.run.progress import open_progress
from ostler.cli.terminal.run.show_run import show_progress
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.errors import UsageError
from ostler.files.user_state import require_user_state
from ostler.model.outcome import Outcome
from ostler.process.orphans import become_subreaper
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_start, is_cluster
from ostler.project.project import Project
from ostler.project.registry.known_projects import KnownProjects, remember_project
from ostler.project.running.active_runs import register_run
from ostler.project.running.worker import Worker
from ostler.text import describe_os_error
from ostler.web.address import address_file, find_user_address_file, listen, request_one_time_url
from ostler.web.server import WebServer


@click.command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help="The port; 0 selects a free one.")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help='Tasks to run in parallel, or "auto".')
@click.option("--view-only", is_flag=True, help="Show the dashboard without running tasks.")
@click.option("--all", "everything", is_flag=True, help="Serve all projects that ostler projects lists.")
@click.option("--sessions", is_flag=True, help="List the browsers that are logged in.")
@click.option("--revoke", metavar="ID", help='Log out a browser of --sessions, or "all".')
@json_option
def command(
    port: int | None,
    jobs: int | None,
    view_only: bool,
    everything: bool,
    sessions: bool,
    revoke: str | None,
    as_json: bool,
) -> int:
    """Run ready tasks, as ostler worker does, and serve the dashboard.

    It listens on this machine only. The printed URL works once; run ostler serve again in the same project
    to print a new one. A browser stays logged in for 30 days, also when the server is restarted.

    Ctrl-C stops the agents and keeps all work; press it again to stop at once. In a cluster the workers run
    the tasks, and this process runs none.

    With --all, one server has every project of the list, each below /p/NAME, and one inbox. It runs the ready
    tasks of each, with -j in every project, unless another process runs them.
    """
    if sessions and revoke is not None:
        raise UsageError("--sessions and --revoke cannot be used together", "ostler serve --sessions")
    flags = {"run.jobs": jobs, "server.port": port}
    overrides = {key: value for key, value in flags.items() if value is not None}
    if sessions or revoke is not None:
        show_sessions(_find_state(everything), revoke, as_json)
        return 0
    if everything:
        # A server of one project does not load it.
        from ostler.cli.commands.work.serve_all import serve_all  # noqa: PLC0415

        return serve_all(overrides, view_only, as_json)
    with open_project(overrides, create=not view_only, adds_tasks=False) as project:
        remember_project(project.layout.root, os.environ)
        return serve(project, view_only, as_json)


def _find_state(everything: bool) -> Path:
    """Return the directory with the sessions of a server."""
    if everything:
        return require_user_state(os.environ)
    with open_project() as project:
        return project.layout.state


def serve(project: Project, view_only: bool, as_json: bool) -> int:
    """Serve until a signal arrives; return the exit code."""
    server, source = project.settings.server, project.loaded.sources["server.port"]
    port = server.port if source.layer == "flag" else None
    if address := _find_running(project, port, runs_tasks=not view_only):
        print_address(address, as_json)
        return 0
    if not (view_only or is_cluster(project.settings)):
        print_warnings(check_start(project))
    listener = open_listener(server.host, server.port)
    return run_loop(_serve(project, listener, view_only, as_json))


def _find_running(project: Project, port: int | None, runs_tasks: bool) -> str | None:
    """Return a new URL of the server of this project, or of the server of all projects."""
    if url := request_one_time_url(address_file(project.layout), port, runs_tasks):
        return url
    known = KnownProjects(os.environ).find(project.layout.root)
    file = find_user_address_file(os.environ)
    return request_one_time_url(file, port, runs_tasks, known.name) if known and file else None


def open_listener(host: str, port: int) -> socket.socket:
    """Bind the port; raise UsageError when that is not possible."""
    try:
        return listen(host, port)
    except OSError as error:
        raise _listen_error(host, port, error) from None


async def _serve(project: Project, listener: socket.socket, view_only: bool, as_json: bool) -> int:
    become_subreaper()
    ignore_closed_output()
    if view_only:
        web = WebServer(project, listener, os.environ, runs_tasks=False)
        return await _serve_until_stopped(
            _Viewer(project), web, as_json, "View only: no tasks are run; stop with Ctrl-C."
        )
    if is_cluster(project.settings):
        return await _serve_cluster(project, listener, as_json)
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


async def _serve_cluster(project: Project, listener: socket.socket, as_json: bool) -> int:
    """Serve the dashboard; workers run the tasks, and this process none."""
    # It loads the client of the Temporal server.
    from ostler.project.cluster.follow import ensure_board  # noqa: PLC0415

    for warning in await ensure_board(project, os.environ):
        print_hint(warning)
    web = WebServer(project, listener, os.environ, runs_tasks=True)
    return await _serve_until_stopped(
        _Viewer(project), web, as_json, "Workers run the tasks; this process runs none. Stop with Ctrl-C."
    )


async def _serve_until_stopped(work: Worker | _Viewer, web: WebServer, as_json: bool, greeting: str) -> int:
    """Print the URL, show progress in the terminal and return the exit code."""
    signals = SignalHandler(partial(stop_run, work), request=work.project.journal.stop_request)
    try:
        print_address(web.site.make_one_time_url(), as_json)
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


def print_address(address: str, as_json: bool) -> None:
    """Print the one-time URL."""
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
