"""ostler cancel"""

from __future__ import annotations

import asyncio
import os

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.project.ostler import Ostler
from ostler.views.task import as_json as task_json


@click.command("cancel")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@json_option
def command(tasks: tuple[str, ...], as_json: bool) -> None:
    """End tasks: their agents are stopped, what they did is kept."""
    with open_project() as project:
        for found in [project.resolve(task) for task in tasks]:
            project.cancel(found)
            asyncio.run(Ostler(project, os.environ).settle(found))
            view = project.show(found)
            if as_json:
                emit(task_json(view))
            else:
                hint(
                    f"{found} is {view.status}" if view.status == "cancelled" else f"{found} is being stopped"
                )
