"""ostler report"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.project.agents.inside_sandbox import find_inside_sandbox
from ostler.project.running.current_attempt import CurrentAttempt, find_current_attempt
from ostler.prompt.report import STATUSES, parse_report


@click.command("report")
@click.option("--status", metavar="STATUS", required=True, help=f"One of {', '.join(STATUSES)}.")
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@json_option
def command(status: str, reason: str, as_json: bool) -> None:
    """Report the status of the current task. For agents, inside their task.

    The last report of an attempt counts.
    """
    report = parse_report(status, reason)
    current = require_current_attempt(os.environ)
    inside = find_inside_sandbox(os.environ, find_root(Path.cwd(), os.environ))
    if inside is not None:
        inside.report(report)
        found = inside.task
    else:
        with open_project() as project:
            found = project.resolve(current.task)
            project.report(found, current.attempt, report)
    if as_json:
        print_json(
            {
                "schema": "ostler.report/1",
                "task_id": found,
                "attempt": current.attempt,
                "status": report.status,
            }
        )
    else:
        print_hint(f"{found} is reported as {report.status}.")


def require_current_attempt(environ: Mapping[str, str]) -> CurrentAttempt:
    """Return the task and attempt that this process belongs to; raises UsageError outside a task."""
    found = find_current_attempt(environ, find_root(Path.cwd(), environ))
    if found is None:
        raise UsageError(
            "ostler report works only inside a task", "use ostler approve, reject or skip outside a task"
        )
    return found
