"""Print an error: one line on stderr, the next step below it, and JSON on stdout with --json."""

from __future__ import annotations

import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from ostler.cli.terminal.output import print_json
from ostler.cli.terminal.text import escape_controls
from ostler.errors import CODES, Code, OstlerError, Problem
from ostler.files.disk import to_disk_error, to_machine_error
from ostler.secrets.redact import redact_text


def report_error(error: Exception, argv: list[str]) -> int:
    """Print the error and return the exit code."""
    match error:
        case OstlerError():
            _print_error(error.code, error.message, error.hint, argv, error.problems)
            return error.exit
        case click.ClickException():
            return _report_usage(error, argv)
        case PermissionError():
            denied = to_disk_error(error.filename or "a file", error)
            return _print_error(denied.code, denied.message, denied.hint, argv)
        case _ if (known := to_machine_error(error)) is not None:
            return _print_error(known.code, known.message, known.hint, argv)
        case _:
            return _report_bug(error, argv)


def _report_usage(error: click.ClickException, argv: list[str]) -> int:
    message = _describe_usage(error)
    context = error.ctx if isinstance(error, click.UsageError) else None
    # An option without its argument has no context.
    typed = f"ostler {argv[0]}" if argv and not argv[0].startswith("-") else "ostler"
    hint = f"{(context.command_path if context is not None else '') or typed} --help"
    return _print_error(Code.USAGE, message[:1].lower() + message[1:].rstrip("."), hint, argv)


_NOT_A_NUMBER = re.compile(r"is not a valid (integer|float)( range)?\b")  # the words of click


def _describe_usage(error: click.ClickException) -> str:
    match error:
        case click.exceptions.NoArgsIsHelpError(ctx=click.Context(command=click.Group() as group) as context):
            # Its message is the whole help.
            return f"{context.info_name} needs a command: {', '.join(group.list_commands(context))}"
        case click.exceptions.NoSuchCommand(ctx=click.Context(command=click.Group() as group) as context):
            commands = ", ".join(group.list_commands(context))
            return f'{context.info_name} has no command "{error.command_name}"; its commands: {commands}'
        case click.exceptions.NoSuchOption():
            return _describe_option(error)
        case click.MissingParameter():
            # The choices are on lines of their own.
            return " ".join(error.format_message().split())
        case _:
            return _NOT_A_NUMBER.sub("is not a number", error.format_message())


def _describe_option(error: click.exceptions.NoSuchOption) -> str:
    """Return the error for an unknown option; click compares the dashes too, so that --input is --timeout."""
    # It loads msgspec, which most errors do not need.
    from ostler.config.checks.expect import nearest  # noqa: PLC0415

    known = {one.lstrip("-"): one for one in error.possibilities or ()}
    near = nearest(error.option_name.lstrip("-"), known)
    return f"no such option {error.option_name}" + (f"; did you mean {known[near]}?" if near else "")


def _report_bug(error: Exception, argv: list[str]) -> int:
    """Write the traceback of an unexpected error to a file and print where it is."""
    log = Path.cwd() / "ostler-bug.log"
    state = Path.cwd() / ".ostler"
    if state.is_dir():
        log = state / "bugs.log"
    text = redact_text("".join(traceback.format_exception(error)))
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(f"{argv!r}\n{text}\n")
        hint = f"please report it with {log}"
    except OSError:
        hint = f"please report it; the log could not be written ({type(error).__name__}: {error})"
    return _print_error(
        Code.UNKNOWN, f"this is a bug in Ostler ({type(error).__name__}: {error})", hint, argv
    )


def _print_error(
    code: Code, message: str, hint: str, argv: list[str], problems: tuple[Problem, ...] = ()
) -> int:
    if "--json" in argv:
        document = {"schema": "ostler.error/1", "code": code, "message": message, "hint": hint}
        # Writing to stdout may be what failed.
        with suppress(OSError):
            print_json(document | ({"problems": problems} if problems else {}))
    for line in message.splitlines() or [code]:
        sys.stderr.write(f"ostler: {escape_controls(line)}\n")
    if hint:
        sys.stderr.write(f"        {escape_controls(hint)}\n")
    return CODES[code].exit
