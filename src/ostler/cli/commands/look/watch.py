"""ostler watch"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing

import click

from ostler.cli.commands.look.status import status_json
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.progress import can_draw
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.project.active_runs import list_active_runs
from ostler.project.limits import read_limits


@click.command("watch")
@json_option
def command(as_json: bool) -> int:
    """Show all tasks live: those that need you, run, wait or have ended.

    Keys open a task's log or diff, and approve, reject, pause, resume, cancel or retry it; press ? for help.
    It runs no tasks: use ostler run, worker or serve. Outside a terminal it prints the tasks once.
    """
    with open_project() as project:
        if as_json:
            alerts = read_limits(os.environ, time.time()).alerts
            print_json(status_json(project.tasks(), list_active_runs(project.layout), alerts))
        elif can_draw() and sys.stdin.isatty():
            ignore_closed_output()
            from ostler.cli.watch.live import watch  # noqa: PLC0415

            return watch(project)
        else:
            from ostler.cli.watch.board import Board  # noqa: PLC0415
            from ostler.cli.watch.snapshot import format_snapshot  # noqa: PLC0415

            with closing(Board(project)) as board:
                print_text(format_snapshot(board, time.time()))
    return 0
