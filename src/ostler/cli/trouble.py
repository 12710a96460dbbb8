"""How a failure looks: one sentence on stderr, the next step below it, and JSON on stdout when asked for."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from ostler.cli.out import emit
from ostler.cli.text import printable
from ostler.errors import CODES, Code, OstlerError
from ostler.files.disk import machine_error


def report(error: Exception, argv: list[str]) -> int:
    """Say what went wrong; the exit code for it."""
    match error:
        case OstlerError():
            return _report(error.code, error.message, error.hint, argv)
        case click.ClickException():
            return _report_usage(error, argv)
        case _ if (told := machine_error(error)) is not None:
            return _report(told.code, told.message, told.hint, argv)
        case _:
            return _report_bug(error, argv)


def _report_usage(error: click.ClickException, argv: list[str]) -> int:
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = (
        f"{context.command_path} --help" if context is not None and context.command_path else "ostler --help"
    )
    return _report(Code.USAGE, message[:1].lower() + message[1:].rstrip("."), hint, argv)


def _report_bug(error: Exception, argv: list[str]) -> int:
    """A bug of ours: the traceback goes to a file, the sentence to the person."""
    log = Path.cwd() / "ostler-bug.log"
    home = Path.cwd() / ".ostler"
    if home.is_dir():
        log = home / "bugs.log"
    text = "".join(traceback.format_exception(error))
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(f"{argv!r}\n{text}\n")
        hint = f"please report it with {log}"
    except OSError:
        hint = f"no log could be written; it was {type(error).__name__}: {error}"
    return _report(Code.UNKNOWN, f"this is a bug in Ostler ({type(error).__name__}: {error})", hint, argv)


def _report(code: Code, message: str, hint: str, argv: list[str]) -> int:
    if "--json" in argv:
        with suppress(OSError):  # stdout may be what failed
            emit({"schema": "ostler.error/1", "code": code, "message": message, "hint": hint})
    for line in message.splitlines() or [code]:
        sys.stderr.write(f"ostler: {printable(line)}\n")
    if hint:
        sys.stderr.write(f"        {printable(hint)}\n")
    return CODES[code].exit
