"""ostler report"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.project.insider import Insider, find_insider
from ostler.prompt.report import STATUSES, read_report


@click.command("report")
@click.option("--status", metavar="STATUS", required=True, help=f"One of {', '.join(STATUSES)}.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever reads it.")
@json_option
def command(status: str, reason: str, as_json: bool) -> None:
    """For agents, inside their task: say how it stands. The last report of an attempt counts."""
    word = read_report(status, reason)
    whose = this_attempt(os.environ)
    with open_project() as project:
        found = project.resolve(whose.task)
        project.report(found, whose.attempt, word)
    if as_json:
        emit({"schema": "ostler.report/1", "task_id": found, "attempt": whose.attempt, "status": word.said})
    else:
        hint(f"{found} is reported {word.said}.")


def this_attempt(environ: Mapping[str, str]) -> Insider:
    """The task and the attempt that this process belongs to."""
    found = find_insider(environ, find_root(Path.cwd(), environ))
    if found is None:
        raise UsageError(
            "only an agent inside its task can report", "a person says it with ostler approve or skip"
        )
    return found
