"""ostler status"""

from __future__ import annotations

import os
import sys
import time

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.task_table import print_table
from ostler.cli.terminal.text import (
    format_timestamp,
    paint,
    terminal_width,
    to_one_line,
    truncate,
    use_colour,
    wrap_hanging,
)
from ostler.clock import format_local_time
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.active_runs import ActiveRun, list_active_runs
from ostler.project.limits import find_start_hold, read_limits
from ostler.project.project import Project
from ostler.project.tasks.forecast import forecast_views
from ostler.views.groups import group_of
from ostler.views.limits import summarize
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

_MAX_ASKED = 20  # ready tasks whose start is found; each one may have other models


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """List all tasks with their status, tokens, cost, and title or reason."""
    now = time.time()
    with open_project() as project:
        if as_json:
            print_json(read_status(project, now))
            return
        views, runs = project.tasks(), list_active_runs(project.layout)
        step = find_next_step(project, views, runs, now) if sys.stdout.isatty() else ""
        forecast = forecast_views(project, views, os.environ, now, is_active=bool(runs))
    alerts = read_limits(os.environ, now).alerts
    limits = summarize(alerts, now)
    # `ostler status | head -1` prints nothing but lines of the table.
    is_header = sys.stdout.isatty() and bool(limits)
    if is_header:
        print_text(format_limits_line(limits) + "\n")
    if not views:
        print_text('No tasks yet.  Next: ostler new "Describe the task"')
    else:
        print_table(views)
        print_text(format_summary(views))
        if forecast is not None and forecast.is_known:
            print_text(wrap_hanging(to_one_line(f"Forecast: {forecast.text}."), len("Forecast: ")))
        for run in runs:
            print_text(f"Active run: process {run.pid}, since {format_timestamp(run.since)}.")
        if step:
            print_hint(f"\nNext: {step}")
    if limits and not is_header:
        print_text(to_one_line(limits))


def format_limits_line(summary: str) -> str:
    """Return the accounts that are nearly used or closed, in one line of the terminal."""
    text = truncate(to_one_line(summary), terminal_width())
    return paint(text, "yellow", use_colour(sys.stdout))


def read_status(project: Project, now: float) -> dict[str, object]:
    """Return the tasks, the active runs, the accounts that are nearly used or closed, and the forecast."""
    views, runs = project.tasks(), list_active_runs(project.layout)
    return {
        "schema": "ostler.status/1",
        "tasks": [task_json(view, attempts=False) for view in views],
        "runs": runs,
        "limits": read_limits(os.environ, now).alerts,
        "forecast": forecast_views(project, views, os.environ, now, is_active=bool(runs)),
    }


def find_next_step(project: Project, views: list[TaskView], runs: list[ActiveRun], now: float) -> str:
    """Return the step of the first task that waits for a person, or the command that runs ready tasks."""
    waiting = next((view for view in views if group_of(view.status) == "needs_you"), None)
    if waiting is not None:
        return next_step(project.show(TaskId(waiting.id)))
    ready = [view for view in views if view.status in EXECUTABLE]
    if runs or not ready:
        return ""
    until = _find_start(project, ready[:_MAX_ASKED], now)
    return "ostler run --all" + (f"   from {format_local_time(until, now)} on" if until else "")


def _find_start(project: Project, views: list[TaskView], now: float) -> float | None:
    """Return when the first of these tasks may start; None: now."""
    starts: list[float] = []
    for view in views:
        is_new = view.status == TaskStatus.PENDING and not view.attempts
        hold = find_start_hold(project, os.environ, TaskId(view.id), now) if is_new else None
        if hold is None:
            return None
        starts.append(hold.until)
    return min(starts)


def format_summary(views: list[TaskView]) -> str:
    counts: dict[str, int] = {}
    for view in views:
        counts[view.status] = counts.get(view.status, 0) + 1
    noun = "task" if len(views) == 1 else "tasks"
    return f"\n{len(views)} {noun}: " + ", ".join(f"{count} {status}" for status, count in counts.items())
