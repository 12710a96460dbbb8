"""ostler reject"""

from __future__ import annotations

import click

from ostler.cli.out import json_option
from ostler.cli.steered import open_for_person, told


@click.command("reject")
@click.argument("task", metavar="ID")
@click.option("-m", "--message", metavar="TEXT", required=True, help="What is wrong; its agent is told.")
@json_option
def command(task: str, message: str, as_json: bool) -> None:
    """Say no where a task waits for you: the work goes back with your reason.

    When it has gone back as often as it may, the task is blocked.
    """
    with open_for_person() as project:
        view = project.reject(project.resolve(task), message)
        told(view, as_json, "goes back." if view.status == "revision" else f"is {view.status}.")
