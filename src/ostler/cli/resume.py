"""ostler resume"""

from __future__ import annotations

import click

from ostler.cli.out import json_option, open_project
from ostler.cli.steered import told


@click.command("resume")
@click.argument("task", metavar="ID")
@click.option("-m", "--message", metavar="TEXT", default="", help="What its agent is told first.")
@json_option
def command(task: str, message: str, as_json: bool) -> None:
    """Let a task go on that is paused, blocked or deferred.

    One that used all of its iterations gets as many again. One that is blocked because the task before it
    failed goes on without that one.
    """
    with open_project() as project:
        told(project.resume(project.resolve(task), message), as_json, "goes on with the next run.")
