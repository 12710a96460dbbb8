"""ostler status"""

from __future__ import annotations

import time
from datetime import datetime

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.text import (
    STATUS_COLOURS,
    local_time_of,
    money,
    one_line,
    reason,
    since,
    table,
    tokens,
)
from ostler.clock import local_time
from ostler.model.status import EXECUTABLE
from ostler.project.at_work import Run, runs_at_work
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

HEADER = ("id", "status", "phase", "tokens", "cost", "updated", "title or reason")
SPARE = ("phase", "tokens", "updated", "cost")


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """All tasks at a glance."""
    with open_project() as project:
        views, runs = project.tasks(), runs_at_work(project.layout)
    if as_json:
        emit(status_json(views, runs))
    elif not views:
        say('No tasks yet.  Next: ostler new "What should be done"')
    else:
        print_table(views)
        say(summary(views))
        for run in runs:
            say(f"A run is at work: process {run.pid}, since {local_time_of(run.since)}.")


def status_json(views: list[TaskView], runs: list[Run]) -> dict[str, object]:
    tasks = [task_json(view, attempts=False) for view in views]
    return {"schema": "ostler.status/1", "tasks": tasks, "runs": runs}


def print_table(views: list[TaskView]) -> None:
    colours = [STATUS_COLOURS.get(view.status, "") for view in views]
    say(table(HEADER, [row(view) for view in views], colours, SPARE))


def row(view: TaskView) -> tuple[str, ...]:
    return (
        view.id,
        view.status,
        f"{view.phase} {view.iteration}",
        tokens(view.usage.total) if view.usage.total else "",
        money(view.cost_usd),
        since(datetime.fromisoformat(view.updated_at).timestamp()),
        one_line(why(view)),
    )


def why(view: TaskView) -> str:
    """What a person wants to know of it: when it goes on, what is wrong or comes first, what it is about."""
    told = reason(view.code, view.message) or waiting(view) or view.title
    return f"resumes at {local_time_of(view.resumes_at)}; {told}" if view.resumes_at else told


def waiting(view: TaskView) -> str:
    """What has to come first of a task that is not begun."""
    if view.status not in EXECUTABLE:
        return ""
    now = time.time()
    at = datetime.fromisoformat(view.not_before).timestamp() if view.not_before else now
    if view.waits_for:
        return f"after {', '.join(view.waits_for)}"
    return f"not before {local_time(at, now)}" if at > now else ""


def summary(views: list[TaskView]) -> str:
    counts: dict[str, int] = {}
    for view in views:
        counts[view.status] = counts.get(view.status, 0) + 1
    noun = "task" if len(views) == 1 else "tasks"
    return f"\n{len(views)} {noun}: " + ", ".join(f"{count} {status}" for status, count in counts.items())
