"""ostler events"""

from __future__ import annotations

import time
from typing import Any

import click

from ostler.cli.commands.look.transcript_lines import TranscriptLines
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json
from ostler.cli.terminal.run.event_line import format_event
from ostler.cli.terminal.text import escape_controls, wrap_hanging
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.views.feed import feed_json

# The width of the position column.
_INDENT = 8
_LAST = 2**62  # no event has a larger number


@click.command("events")
@click.argument("task", required=False, metavar="[ID]")
@click.option(
    "--after", metavar="SEQ", type=click.IntRange(min=0), default=0, help="Only events after this number."
)
@click.option("-f", "--follow", is_flag=True, help="Print new events until Ctrl-C.")
@click.option("--transcript", is_flag=True, help="Also print the text of the agents.")
@json_option
def command(task: str | None, after: int, follow: bool, transcript: bool, as_json: bool) -> None:
    """List the recorded events of all tasks, or of one, oldest first."""
    with open_project() as project:
        found = project.resolve(task) if task else None
        texts, after = TranscriptLines(project) if transcript else None, min(after, _LAST)
        while True:
            after = _print_after(project, after, found, texts, as_json)
            for text in texts.read_running(after) if texts else ():
                _print_text(text, as_json)
            if not follow:
                return
            time.sleep(0.1)


def _print_text(text: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(text)
        return
    for line in text["text"].splitlines():
        click.echo(f"{'':>6}  {text['task_id']} | {escape_controls(line)}")


def _print_after(
    project: Project, after: int, task: TaskId | None, texts: TranscriptLines | None, as_json: bool
) -> int:
    while lines := project.feed(after, task):
        for line in lines:
            shown = feed_json(line)
            for text in texts.read_before(shown) if texts else ():
                _print_text(text, as_json)
            if as_json:
                print_json(shown)
            else:
                click.echo(wrap_hanging(f"{line.position:>6}  {format_event(shown)}", _INDENT))
        after = lines[-1].position
    return after
