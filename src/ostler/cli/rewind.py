"""ostler rewind"""

from __future__ import annotations

import click

from ostler.cli.out import json_option, open_project
from ostler.cli.steered import told


@click.command("rewind")
@click.argument("task", metavar="ID")
@click.option("--to", "phase", metavar="PHASE", required=True, help="The phase that is done again.")
@click.option("-m", "--message", metavar="TEXT", default="", help="What its agent is told first.")
@json_option
def command(task: str, phase: str, message: str, as_json: bool) -> None:
    """Go back to the beginning of a phase: it and all after it are done again, from the work before it."""
    with open_project() as project:
        told(project.rewind(project.resolve(task), phase, message), as_json, f"is back at {phase}.")
