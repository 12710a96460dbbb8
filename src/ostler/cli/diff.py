"""ostler diff"""

from __future__ import annotations

import sys

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.cli.text import paint, printable, wants_colour
from ostler.project.changes import changes_of

_COLOURS = {"+": "green", "-": "red", "@": "blue"}


@click.command("diff")
@click.argument("task", metavar="ID")
@json_option
def command(task: str, as_json: bool) -> None:
    """What a task changed, committed or not."""
    with open_project() as project:
        found = project.resolve(task)
        patch = changes_of(project, found).decode("utf-8", "replace")
    if as_json:
        emit({"schema": "ostler.diff/1", "id": found, "patch": patch})
    elif not patch:
        hint(f"{found} has changed nothing")
    else:
        colour = wants_colour(sys.stdout)
        for line in patch.splitlines():
            safe = printable(line) if sys.stdout.isatty() else line
            click.echo(paint(safe, _COLOURS.get(line[:1], ""), colour), color=colour)
