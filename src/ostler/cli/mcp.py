"""ostler mcp"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from ostler.cli.out import hint, json_option
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.project.insider import Insider, find_insider


@click.command("mcp")
@json_option
def command(as_json: bool) -> None:
    """Let an AI tool write tasks down and look at them: an MCP server on stdin and stdout.

    Such a tool starts it by itself; for Claude Code: claude mcp add ostler -- ostler mcp
    """
    start = Path.cwd()
    insider = find_insider(os.environ, find_root(start, os.environ))
    serve = _load()
    if sys.stdin.isatty():
        hint("Waiting for an MCP client on stdin; Ctrl-D ends it.  Next: claude mcp add ostler -- ostler mcp")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that reads stdin cannot be told otherwise
    serve(start, os.environ, insider)


def _load() -> Callable[[Path, Mapping[str, str], Insider | None], None]:
    """The server, once its package is there."""
    try:
        from ostler.mcp_server.stdio import serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        message = "ostler mcp needs the package mcp, version 2 or newer"
        raise UsageError(message, "pip install 'ostler[mcp]'") from None
    return serve
