"""ostler worker"""

from __future__ import annotations

import asyncio
import os
import time

import click

from ostler.cli.conclusion import conclude_run
from ostler.cli.jobs import JOBS
from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.progress import showing
from ostler.cli.run import with_progress
from ostler.cli.signals import Signals
from ostler.cli.streams import outlive_readers
from ostler.cli.text import local_time, table
from ostler.clock import rfc3339
from ostler.model.outcome import exit_of_all
from ostler.process.strays import become_subreaper
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.timetable import Timetable
from ostler.project.worker import Worker


@click.command("worker")
@click.option("--once", is_flag=True, help="One round: begin what this minute has, run what is due, and end.")
@click.option("--list", "listed", is_flag=True, help="Show all schedules, and when each comes next.")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help="How many tasks run side by side.")
@json_option
def command(once: bool, listed: bool, jobs: int | None, as_json: bool) -> int:
    """Keep running what is due, and begin what has a schedule.

    \b
    A schedule is a line of cron, in local time:
      schedule: "0 6 * * 1"      # minute hour day month weekday
    in .agents/pipelines/NAME.yaml, or in the front matter of .agents/tasks/NAME.md.

    Each time comes once, with several workers too. What came due while no worker ran is not made up for.
    Ctrl-C stops in good order and keeps everything; a second one stops at once.
    """
    with open_project({"run.jobs": jobs} if jobs else {}, create=not listed) as project:
        if listed:
            _print_schedules(Timetable(project.layout.root, time.time()), as_json)
            return 0
        return asyncio.run(_work(project, once, as_json))


async def _work(project: Project, once: bool, as_json: bool) -> int:
    become_subreaper()
    outlive_readers()
    ostler = Ostler(project, os.environ, tell=hint)
    try:
        worker = Worker(ostler, hint)
        signals = Signals(worker)
        if not once and not as_json:
            hint(_greeting(worker.timetable))
        work = asyncio.create_task(worker.run_once() if once else worker.run())
        outcomes = await with_progress(worker, work, showing(as_json, {}, project.layout), None)
    finally:
        await ostler.close()
    if once:
        conclude_run(project, outcomes, as_json)
    return signals.exit or exit_of_all(outcomes)


def _greeting(timetable: Timetable) -> str:
    now = time.time()
    first = next(iter(timetable.coming(now)), None)
    then = f"  Next on schedule: {first[0].name}, {local_time(first[1], now)}." if first else ""
    return f"Working on what is due; Ctrl-C ends it.{then}"


def _print_schedules(timetable: Timetable, as_json: bool) -> None:
    now = time.time()
    coming = timetable.coming(now)
    if as_json:
        lines = [
            {
                "name": one.name,
                "kind": one.kind,
                "schedule": one.schedule.line,
                "next": rfc3339(at),
                "where": one.schedule.where,
            }
            for one, at in coming
        ]
        emit({"schema": "ostler.schedules/1", "schedules": lines})
    elif coming:
        rows = [(one.name, local_time(at, now), one.schedule.line, one.schedule.where) for one, at in coming]
        say(table(("name", "next", "schedule", "where"), rows))
        hint("\nNext: ostler worker")
    else:
        say('Nothing has a schedule.\n\nNext: write schedule: "0 6 * * 1" into .agents/pipelines/NAME.yaml')
