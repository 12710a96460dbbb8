"""ostler approve"""

from __future__ import annotations

import click

from ostler.cli.out import json_option
from ostler.cli.steered import open_for_person, told


@click.command("approve")
@click.argument("task", metavar="ID")
@click.option("-m", "--message", metavar="TEXT", default="", help="A note that is kept with the decision.")
@json_option
def command(task: str, message: str, as_json: bool) -> None:
    """Say yes where a task waits for you, or where a gate said no and nothing is left to try."""
    with open_for_person() as project:
        told(project.approve(project.resolve(task), message), as_json, "goes on with the next run.")
