"""ostler serve --all"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping

from ostler.cli.commands.work.serve import open_listener, print_address
from ostler.cli.event_loop import run_loop
from ostler.cli.signals import SignalHandler
from ostler.cli.terminal.output import print_hint
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.config.load import load_settings
from ostler.files.user_state import require_user_state
from ostler.process.orphans import become_subreaper
from ostler.web.address import FILE_NAME, request_one_time_url
from ostler.web.all_projects.hosted import server_environ
from ostler.web.all_projects.server import AllProjectsServer


def serve_all(flags: Mapping[str, object], view_only: bool, as_json: bool) -> int:
    """Serve all projects of the user until a signal arrives; return the exit code."""
    environ = server_environ()
    # A port in the settings of a project is for the server of that project.
    loaded = load_settings(None, environ, flags)
    server, source = loaded.settings.server, loaded.sources["server.port"]
    port = server.port if source.layer == "flag" else None
    file = require_user_state(environ) / FILE_NAME
    if url := request_one_time_url(file, port, runs_tasks=not view_only):
        print_address(url, as_json)
        return 0
    return run_loop(
        _serve(open_listener(server.host, server.port), environ, flags, view_only=view_only, as_json=as_json)
    )


async def _serve(
    listener: socket.socket,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    *,
    view_only: bool,
    as_json: bool,
) -> int:
    become_subreaper()
    ignore_closed_output()
    web = AllProjectsServer(listener, environ, flags, print_hint, view_only=view_only)
    signals = SignalHandler(web.host.stop)
    try:
        print_address(web.host.make_one_time_url(), as_json)
        if not as_json:
            print_hint(_greet(view_only))
        await web.host.run()
    finally:
        # In a thread, so that a second Ctrl-C is still handled.
        await asyncio.to_thread(web.close)
    return signals.exit_code


def _greet(view_only: bool) -> str:
    if view_only:
        return "View only: no tasks are run; stop with Ctrl-C."
    return "Running the ready tasks of all projects; stop with Ctrl-C."
