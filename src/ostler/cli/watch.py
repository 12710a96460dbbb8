"""ostler watch"""

from __future__ import annotations

import sys
import time
from contextlib import closing

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.progress import draws
from ostler.cli.status import status_json
from ostler.cli.streams import outlive_readers
from ostler.project.at_work import runs_at_work


@click.command("watch")
@json_option
def command(as_json: bool) -> int:
    """All tasks, live: what needs you, what runs, what waits, what came out.

    Keys open a task's log or diff, approve, reject, pause, resume, cancel and retry; ? lists them. It only
    looks on: agents work while ostler run, worker or serve is there. Away from a terminal it shows the tasks
    once.
    """
    with open_project() as project:
        if as_json:
            emit(status_json(project.tasks(), runs_at_work(project.layout)))
        elif draws() and sys.stdin.isatty():
            outlive_readers()
            from ostler.cli.watching.live import watch  # noqa: PLC0415  (a snapshot needs no screen)

            return watch(project)
        else:
            from ostler.cli.watching.board import Board  # noqa: PLC0415
            from ostler.cli.watching.plain import snapshot  # noqa: PLC0415

            with closing(Board(project)) as board:
                say(snapshot(board, time.time()))
    return 0
