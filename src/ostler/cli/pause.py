"""ostler pause"""

from __future__ import annotations

import click

from ostler.cli.out import json_option, open_project
from ostler.cli.steered import told


@click.command("pause")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@json_option
def command(tasks: tuple[str, ...], as_json: bool) -> None:
    """Let tasks rest where they stand: their agents are stopped, work and sessions are kept."""
    with open_project() as project:
        for found in [project.resolve(task) for task in tasks]:
            view = project.pause(found)
            told(view, as_json, "is paused." if view.status == "paused" else "is being stopped.")
