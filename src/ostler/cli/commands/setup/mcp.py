"""ostler mcp"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.project.running.current_attempt import CurrentAttempt, find_current_attempt


@click.command("mcp")
@json_option
def command(as_json: bool) -> None:
    """Start an MCP server on stdin and stdout: other AI tools create and read tasks with it.

    The client starts it. For Claude Code: claude mcp add ostler -- ostler mcp
    """
    start = Path.cwd()
    current = find_current_attempt(os.environ, find_root(start, os.environ))
    serve = _load_server()
    if sys.stdin.isatty():
        print_hint("Waiting for an MCP client on stdin; stop with Ctrl-D.")
        print_hint("Next: claude mcp add ostler -- ostler mcp")
    # The thread that reads stdin cannot be cancelled.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(start, os.environ, current)


def _describe_install() -> str:
    """Return the command that installs the package where Ostler is installed, wherever it came from."""
    from importlib.util import find_spec  # noqa: PLC0415  (needed for an error message only)

    python = shlex.quote(sys.executable)
    # An environment of uv or pipx has no pip of its own.
    return (
        f"{python} -m pip install 'mcp>=2'"
        if find_spec("pip")
        else f"uv pip install --python {python} 'mcp>=2'"
    )


def _load_server() -> Callable[[Path, Mapping[str, str], CurrentAttempt | None], None]:
    """Import the server; raises UsageError when its package is missing."""
    try:
        from ostler.mcp.server import serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        message = "ostler mcp needs the Python package mcp, version 2 or newer"
        raise UsageError(message, _describe_install()) from None
    return serve
