"""ostler watch"""

from __future__ import annotations

import sys
import time
from contextlib import closing

import click

from ostler.cli.commands.look.status import read_status
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.run.progress import can_draw
from ostler.cli.terminal.streams import ignore_closed_output


@click.command("watch")
@json_option
def command(as_json: bool) -> int:
    """Show all tasks live: questions, reviews and failures first, then those that run, wait or have ended.

    Keys open a task's review, log or diff, and approve, merge, send back, pause, resume, cancel or retry it;
    press ? for help. It runs no tasks; use ostler run, worker or serve. Elsewhere it prints the tasks.
    """
    with open_project() as project:
        if as_json:
            print_json(read_status(project, time.time()))
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
