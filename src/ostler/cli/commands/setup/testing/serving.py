"""Serves until a signal, or while a command runs with the variables of the server."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import NoReturn

import click
from msgspec import Struct

from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.clock import SystemClock, format_rfc3339
from ostler.errors import UsageError
from ostler.process.tool import run_in_foreground
from ostler.text import describe_os_error

port_option = click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="The port; 0 selects a free one."
)
program_argument = click.argument("program", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)

_CLOCK = SystemClock()


class _Stopped(Exception):
    """A signal arrived while a command runs."""


class TestServer(Struct, frozen=True):
    """A server that has started."""

    kind: str  # model, github
    url: str
    environment: dict[str, str]  # the variables with which a program uses it


@contextmanager
def listening(port: int) -> Generator[None]:
    """Raise UsageError when the port cannot be used."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        message = f"cannot listen on port {port}: {describe_os_error(error)}"
        raise UsageError(message, "--port 0 selects a free one") from None


def require_program(program: tuple[str, ...]) -> None:
    """Raise UsageError when the command cannot be found."""
    if program and shutil.which(program[0]) is None:
        raise UsageError(f"no program {program[0]}", "check the command after --")


def serve(server: TestServer, program: tuple[str, ...], as_json: bool) -> int:
    """Serve until a signal or until the program ends; return the exit code."""
    if program:
        return _run(program, {**os.environ, **server.environment})
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_set, stopped))
    if as_json:
        document = {"kind": server.kind, "url": server.url, "environment": server.environment}
        print_json({"schema": "ostler.test_server/1", **document})
    else:
        print_hint(f"The {server.kind} server listens on {server.url}; stop it with Ctrl-C.")
        print_hint("Run these lines in the shell in which you test:\n")
        print_environment(server.environment)
        print_hint("")
    # Without a limit, wait() does not handle signals on every platform.
    while not stopped.wait(3600):
        continue
    return 0


def print_environment(variables: Mapping[str, str]) -> None:
    """Print lines for a shell."""
    if variables:
        print_text("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))


def print_request(line: str, fields: Mapping[str, object], as_json: bool) -> None:
    """Print a request: as JSON on stdout, or as one line on stderr."""
    now = _CLOCK.now()
    if as_json:
        print_json({"schema": "ostler.test_request/1", "time": format_rfc3339(now), **fields})
    else:
        print_hint(f"{datetime.fromtimestamp(now):%H:%M:%S}  {line}")


def _run(program: tuple[str, ...], environ: dict[str, str]) -> int:
    signal.signal(signal.SIGTERM, _stop)
    try:
        status = run_in_foreground([*program], None, environ)
    except _Stopped:
        return 128 + signal.SIGTERM
    return status if status >= 0 else 128 - status


def _set(stopped: threading.Event, *_: object) -> None:
    stopped.set()


def _stop(*_: object) -> NoReturn:
    # The exception makes the call above kill the program.
    raise _Stopped
