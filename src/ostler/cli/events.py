"""ostler events"""

from __future__ import annotations

import time

import click

from ostler.cli.out import emit, json_option, open_project
from ostler.cli.sentence import sentence
from ostler.cli.text import hanging
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.views.feed import feed_json

_INDENT = 8  # below the time


@click.command("events")
@click.argument("task", required=False, metavar="[ID]")
@click.option(
    "--after", metavar="SEQ", type=click.IntRange(min=0), default=0, help="Only what came after this number."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as things happen, until Ctrl-C.")
@json_option
def command(task: str | None, after: int, follow: bool, as_json: bool) -> None:
    """Everything that happened, in the order in which it was recorded."""
    with open_project() as project:
        found = project.resolve(task) if task else None
        while True:
            after = _print_after(project, after, found, as_json)
            if not follow:
                return
            time.sleep(0.1)


def _print_after(project: Project, after: int, task: TaskId | None, as_json: bool) -> int:
    while lines := project.feed(after, task):
        for line in lines:
            shown = feed_json(line)
            if as_json:
                emit(shown)
            else:
                click.echo(hanging(f"{line.position:>6}  {sentence(shown)}", _INDENT))
        after = lines[-1].position
    return after
