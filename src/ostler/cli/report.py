"""ostler report"""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.errors import UsageError
from ostler.prompt.report import STATUSES, read_report


@click.command("report")
@click.option("--status", metavar="STATUS", required=True, help=f"One of {', '.join(STATUSES)}.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever reads it.")
@json_option
def command(status: str, reason: str, as_json: bool) -> None:
    """For agents, inside their task: say how it stands. The last report of an attempt counts."""
    word = read_report(status, reason)
    task, attempt = whose(os.environ)
    with open_project() as project:
        found = project.resolve(task)
        project.report(found, attempt, word)
    if as_json:
        emit({"schema": "ostler.report/1", "task_id": found, "attempt": attempt, "status": word.said})
    else:
        hint(f"{found} is reported {word.said}.")


def whose(environ: Mapping[str, str]) -> tuple[str, int]:
    """The task and the attempt that this process belongs to."""
    task, marker = environ.get("OSTLER_TASK", ""), environ.get("OSTLER_ATTEMPT", "")
    number = marker.rpartition(":")[2]
    if not task or not number.isdecimal():
        raise UsageError(
            "only an agent inside its task can report", "a person says it with ostler approve or skip"
        )
    return task, int(number)
