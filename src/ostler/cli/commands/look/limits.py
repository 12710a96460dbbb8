"""ostler limits"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.limits_screen import Style, format_limits
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.run.bar import has_blocks
from ostler.cli.terminal.text import terminal_width, use_colour
from ostler.config.find import find_root
from ostler.project.limits import forget_account, read_limits, read_project_limits
from ostler.views.limits import LimitsView


@click.group("limits", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show how much of each window of your accounts is used, when it resets, and what is closed.

    The values are those that agents reported last, in all projects of this user. In a project, its accounts
    are first, and a mark in each bar is the share at which no further task starts.
    """
    if context.invoked_subcommand is not None:
        return
    now = time.time()
    view = _read(now)
    if as_json:
        print_json(view)
    else:
        style = Style(terminal_width(), use_colour(sys.stdout), not has_blocks(sys.stdout))
        print_text(format_limits(view, now, style))


@command.command("forget")
@click.argument("account")
@json_option
def forget_command(account: str, as_json: bool) -> None:
    """Forget everything that is recorded about ACCOUNT, such as a wrong reset time.

    ACCOUNT is the name that ostler limits shows, or its id in the JSON. The next call is made at once; if
    the account is still limited, its provider rejects that call and the limit is recorded again. A task
    that is already deferred keeps its time; ostler resume ID makes it due now.
    """
    found = forget_account(account, _read(time.time()), os.environ)
    if as_json:
        print_json({"schema": "ostler.limits-forgotten/1", "account": found})
        return
    print_text(f"Forgot the limits of {found.label}.")
    if found.closed:
        print_hint("Deferred tasks keep their time.  Next: ostler resume ID")


def _read(now: float) -> LimitsView:
    if find_root(Path.cwd(), os.environ) is None:
        return read_limits(os.environ, now)
    with open_project(create=True, adds_tasks=False) as project:
        return read_project_limits(project, os.environ, now)
