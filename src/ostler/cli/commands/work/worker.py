"""ostler worker"""

from __future__ import annotations

import asyncio
import os
import time

import click

from ostler.cli.commands.work.run import show_progress
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.signals import SignalHandler
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.not_started import has_held
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.progress import open_progress
from ostler.cli.terminal.run_summary import print_run_summary
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.cli.terminal.text import format_table
from ostler.clock import format_local_time, format_rfc3339
from ostler.model.outcome import combine_exit_codes, combine_with_holds, combine_with_refusal
from ostler.process.orphans import become_subreaper
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_start
from ostler.project.project import Project
from ostler.project.schedules import Scheduler
from ostler.project.worker import Worker


@click.command("worker")
@click.option(
    "--once", is_flag=True, help="Start the tasks scheduled for this minute, run all ready tasks, and exit."
)
@click.option("--list", "listed", is_flag=True, help="List all schedules and their next times.")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help='Tasks to run in parallel, or "auto".')
@json_option
def command(once: bool, listed: bool, jobs: int | None, as_json: bool) -> int:
    """Keep running ready tasks and start scheduled ones.

    \b
    A schedule is a cron expression in local time:
      schedule: "0 6 * * 1"      # minute hour day month weekday
    in .agents/pipelines/NAME.yaml, or in the front matter of .agents/tasks/NAME.md.

    Several workers start each scheduled time once. Times that passed while no worker ran are skipped.
    Ctrl-C stops the agents and keeps all work; press it again to stop at once.
    """
    with open_project({"run.jobs": jobs} if jobs else {}, create=not listed) as project:
        if listed:
            _print_schedules(Scheduler(project.layout.root, time.time()), as_json)
            return 0
        print_warnings(check_start(project))
        print_unconfined(project)
        return asyncio.run(_run_worker(project, once, as_json))


async def _run_worker(project: Project, once: bool, as_json: bool) -> int:
    become_subreaper()
    ignore_closed_output()
    ostler = Ostler(project, os.environ, print_message=print_hint)
    try:
        worker = Worker(ostler, print_hint)
        signals = SignalHandler(worker)
        if not once and not as_json:
            print_hint(_format_greeting(worker.scheduler))
        work = asyncio.create_task(worker.run_once() if once else worker.run())
        outcomes = await show_progress(worker, work, open_progress(as_json, {}, project.layout), None)
    finally:
        await ostler.close()
    if once:
        print_run_summary(project, outcomes, as_json, ostler.not_started)
    exit_code = combine_with_holds(combine_exit_codes(outcomes), has_held(ostler.not_started))
    return signals.exit_code or combine_with_refusal(
        exit_code, bool(worker.refused or worker.scheduler.skipped)
    )


def _format_greeting(timetable: Scheduler) -> str:
    now = time.time()
    first = next(iter(timetable.list_upcoming(now)), None)
    scheduled = f"  Next scheduled: {first[0].name}, {format_local_time(first[1], now)}." if first else ""
    return f"Running ready tasks; stop with Ctrl-C.{scheduled}"


def _print_schedules(timetable: Scheduler, as_json: bool) -> None:
    now = time.time()
    coming = timetable.list_upcoming(now)
    for mistake in timetable.skipped:
        print_hint(f"skipped until it is fixed: {mistake}")
    if as_json:
        lines = [
            {
                "name": one.name,
                "kind": one.kind,
                "schedule": one.schedule.cron,
                "next": format_rfc3339(at),
                "where": one.schedule.location,
            }
            for one, at in coming
        ]
        print_json({"schema": "ostler.schedules/1", "schedules": lines, "skipped": timetable.skipped})
    elif coming:
        rows = [
            (one.name, format_local_time(at, now), one.schedule.cron, one.schedule.location)
            for one, at in coming
        ]
        print_text(format_table(("name", "next", "schedule", "file"), rows))
        print_hint("\nNext: ostler worker")
    else:
        print_text('No schedules.  Next: add schedule: "0 6 * * 1" to .agents/pipelines/NAME.yaml')
