"""ostler skip"""

from __future__ import annotations

import click

from ostler.cli.out import json_option
from ostler.cli.steered import open_for_person, told


@click.command("skip")
@click.argument("task", metavar="ID")
@click.option(
    "--phase", metavar="NAME", required=True, help="The phase to leave out; ostler show lists them."
)
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept with the phase.")
@json_option
def command(task: str, phase: str, reason: str, as_json: bool) -> None:
    """Leave a phase of a task out; what it did so far is kept."""
    with open_for_person() as project:
        told(project.skip(project.resolve(task), phase, reason), as_json, f"does without {phase}.")
