"""ostler diff"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.cli.terminal.text import escape_controls, paint, use_colour
from ostler.files.protected import describe_guarded_files
from ostler.project.tasks.changes import list_guarded_changes, read_patch

_COLOURS = {"+": "green", "-": "red", "@": "blue"}


@click.command("diff")
@click.argument("task", metavar="ID")
@json_option
def command(task: str, as_json: bool) -> None:
    """Show what a task changed, committed or not."""
    with open_project() as project:
        found = project.resolve(task)
        patch = read_patch(project, found).decode("utf-8", "replace")
        guarded = list_guarded_changes(project, found) if patch else ()
    if as_json:
        print_json({"schema": "ostler.diff/1", "id": found, "patch": patch, "guarded": guarded})
    elif not patch:
        print_hint(f"{found} has no changes.")
    else:
        colour = use_colour(sys.stdout)
        for line, shade in choose_colours(patch.removesuffix("\n").split("\n")):
            safe = escape_controls(line) if sys.stdout.isatty() else line
            click.echo(paint(safe, shade, colour), color=colour)
        for note in describe_guarded_files(guarded):
            print_hint(f"{found} {escape_controls(note)}")


def choose_colours(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a patch with their colours; the head of a file has the signs of changes too."""
    is_head = False
    for line in lines:
        is_head = line.startswith("diff --git ") or (is_head and not line.startswith("@@"))
        yield line, "bold" if is_head else _COLOURS.get(line[:1], "")
