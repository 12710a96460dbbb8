"""ostler status"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

import click

from ostler.cli.options import json_option, open_project, refuse_empty
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
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.model.task import PRIORITY_NAMES, to_priority
from ostler.project.limits import find_start_hold, read_limits
from ostler.project.project import Project
from ostler.project.running.active_runs import ActiveRun, list_active_runs
from ostler.project.tasks.forecast import forecast_queue
from ostler.project.tasks.lists.status_filter import (
    StatusFilter,
    StatusFlag,
    StatusPage,
    list_ready,
    read_status_page,
)
from ostler.views.limits import summarize
from ostler.views.task import as_json as task_json

_MAX_ASKED = 20  # ready tasks whose start is found; each one may have other models
_PAGE = 50  # tasks on one page in a terminal


@click.command("status")
@click.argument("text", required=False, default="", metavar="[TEXT]")
@click.option("--needs-you", is_flag=True, help="Tasks that wait for you: questions, reviews, failures.")
@click.option("--running", is_flag=True, help="Tasks that are running.")
@click.option("--failed", is_flag=True, help="Failed and quarantined tasks.")
@click.option(
    "--status", "statuses", metavar="WORD", multiple=True, help="Tasks with this status; repeatable."
)
@click.option(
    "--priority",
    metavar="P",
    type=click.Choice(PRIORITY_NAMES),
    help="P0 to P4, or high, medium, low, background.",
)
@click.option("--feature", metavar="NAME", callback=refuse_empty, help="Tasks of this slot pool.")
@click.option("--label", metavar="NAME", callback=refuse_empty, help="Tasks for workers with this label.")
@click.option("--tag", metavar="NAME", callback=refuse_empty, help="Tasks with this tag.")
@click.option(
    "--since",
    metavar="TIME",
    callback=refuse_empty,
    help="Tasks that changed since then: 2d, 18:30 or a date.",
)
@click.option("--archived", is_flag=True, help="Archived tasks instead of the others.")
@click.option(
    "--page", metavar="N", type=click.IntRange(min=1), default=None, help="Another page of the list."
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=None, help="Tasks on one page.")
@click.option("--all", "show_all", is_flag=True, help="All pages at once; the default without a terminal.")
@json_option
def command(
    text: str,
    needs_you: bool,
    running: bool,
    failed: bool,
    statuses: tuple[str, ...],
    priority: str | None,
    feature: str,
    label: str,
    tag: str,
    since: str,
    archived: bool,
    page: int | None,
    limit: int | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """List the tasks with their status, tokens, cost, and title or reason.

    TEXT selects tasks by a part of their title or id. What needs you comes first: questions, reviews and
    failures, each by priority and then by waiting time. In a terminal the list has pages of 50 tasks.
    """
    given: dict[StatusFlag, bool] = {"needs_you": needs_you, "running": running, "failed": failed}
    wanted = StatusFilter(
        flags=tuple(flag for flag, is_set in given.items() if is_set),
        statuses=statuses,
        since=since,
        priority=to_priority(priority or ""),
        feature=feature,
        label=label,
        tag=tag,
        text=text,
        archived=archived,
    )
    if show_all and (page or limit):
        raise click.UsageError("--all shows every page: omit --page and --limit")
    now = time.time()
    with open_project() as project:
        if as_json:
            print_json(read_status(project, now, wanted, page, limit))
            return
        size = None if show_all else limit or (_PAGE if page or sys.stdout.isatty() else None)
        _print_status(project, now, wanted, page or 1, size)


def _print_status(project: Project, now: float, wanted: StatusFilter, number: int, size: int | None) -> None:
    page, runs = read_status_page(project, wanted, number, size), list_active_runs(project.layout)
    is_plain = not wanted.is_active and not wanted.archived
    step = find_next_step(project, page.counts, runs, now) if is_plain and sys.stdout.isatty() else ""
    forecast = forecast_queue(project, os.environ, now, is_active=bool(runs)) if is_plain else None
    limits = summarize(read_limits(os.environ, now).alerts, now)
    # `ostler status | head -1` prints nothing but lines of the table.
    is_header = sys.stdout.isatty() and bool(limits)
    if is_header:
        print_text(format_limits_line(limits) + "\n")
    if not page.total:
        print_text(_describe_empty(page.known, wanted))
    else:
        print_table(page.tasks, has_sections=sys.stdout.isatty())
        print_text(format_summary(page.counts, page.known))
        if forecast is not None and forecast.is_known:
            print_text(wrap_hanging(to_one_line(f"Forecast: {forecast.text}."), len("Forecast: ")))
        for run in runs:
            print_text(f"Active run: process {run.pid}, since {format_timestamp(run.since)}.")
        if page.pages > 1:
            print_hint(_describe_page(page, wanted, size))
        if step:
            print_hint(f"\nNext: {step}")
    if limits and not is_header:
        print_text(to_one_line(limits))


def _describe_empty(total: int, wanted: StatusFilter) -> str:
    if total:
        return f"None of {total} {'task matches' if total == 1 else 'tasks match'}.  Next: ostler status"
    if wanted.archived:
        return "No archived tasks.  Next: ostler status"
    return 'No tasks yet.  Next: ostler new "Describe the task"'


def _describe_page(page: StatusPage, wanted: StatusFilter, limit: int | None) -> str:
    same = " ".join(("ostler status", *_list_arguments(wanted)))
    size = f" --limit {limit}" if limit not in (None, _PAGE) else ""
    following = page.number + 1 if page.number < page.pages else 1
    place = f"Page {page.number} of {page.pages}."
    return f"{place}  Next: {same}{size} --page {following}   or   {same} --all"


def _list_arguments(wanted: StatusFilter) -> list[str]:
    """Return the arguments that select the same tasks."""
    import shlex  # noqa: PLC0415  (most lists have one page)

    options = {
        "--priority": wanted.priority,
        "--feature": wanted.feature,
        "--label": wanted.label,
        "--tag": wanted.tag,
    }
    pairs = [*options.items(), ("--since", wanted.since), *(("--status", one) for one in wanted.statuses)]
    flags = [f"--{flag.replace('_', '-')}" for flag in wanted.flags]
    values = [f"{name} {shlex.quote(value)}" for name, value in pairs if value]
    text = [shlex.quote(wanted.text)] if wanted.text else []
    return [*text, *flags, *values, *(["--archived"] if wanted.archived else [])]


def format_limits_line(summary: str) -> str:
    """Return the accounts that are nearly used or closed, in one line of the terminal."""
    text = truncate(to_one_line(summary), terminal_width())
    return paint(text, "yellow", use_colour(sys.stdout))


def read_status(
    project: Project,
    now: float,
    wanted: StatusFilter | None = None,
    page: int | None = None,
    limit: int | None = None,
) -> dict[str, object]:
    """Return the tasks, the active runs, the accounts that are nearly used or closed, and the forecast."""
    wanted, runs = wanted or StatusFilter(), list_active_runs(project.layout)
    shown = read_status_page(project, wanted, page or 1, limit or (_PAGE if page else None))
    is_page = page or limit
    tasks = shown.tasks if is_page else sorted(shown.tasks, key=lambda view: (view.created_at, view.id))
    return {
        "schema": "ostler.status/1",
        "tasks": [task_json(view, attempts=False) for view in tasks],
        "total": shown.total,
        "page": shown.number,
        "pages": shown.pages,
        "runs": runs,
        "limits": read_limits(os.environ, now).alerts,
        "forecast": forecast_queue(project, os.environ, now, is_active=bool(runs)),
    }


def find_next_step(project: Project, counts: Mapping[str, int], runs: list[ActiveRun], now: float) -> str:
    """Return the step of the first task that waits for a person, or the command that runs ready tasks."""
    is_ready = any(counts.get(status) for status in EXECUTABLE)
    listing = project.journal.listing
    for need in ("question", "review") if is_ready else ("question", "review", "failed", "paused"):
        if first := listing.inbox(need, None, 1):
            # Only a terminal shows it.
            from ostler.views.next_step import next_step  # noqa: PLC0415

            return next_step(project.show(first[0].id))
    if runs or not is_ready:
        return ""
    until = _find_start(project, now)
    return "ostler run --all" + (f"   from {format_local_time(until, now)} on" if until else "")


def _find_start(project: Project, now: float) -> float | None:
    """Return when the first of the ready tasks may start; None: now."""
    starts: list[float] = []
    for row in list_ready(project, _MAX_ASKED):
        is_new = row.status == TaskStatus.PENDING and not project.journal.attempts(row.id)
        hold = find_start_hold(project, os.environ, row.id, now) if is_new else None
        if hold is None:
            return None
        starts.append(hold.until)
    return min(starts, default=None)


def format_summary(counts: Mapping[str, int], known: int | None = None) -> str:
    """Return the number of tasks by status; with a larger known number, the tasks are a part of it."""
    total = sum(counts.values())
    noun = "task" if (known or total) == 1 else "tasks"
    part = f"{total} of {known}" if known is not None and known != total else str(total)
    return f"\n{part} {noun}: " + ", ".join(f"{count} {status}" for status, count in counts.items())
