"""ostler worker"""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial

import click

from ostler.cli.event_loop import run_loop
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.signals import SignalHandler, stop_run
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.run.not_started import has_held
from ostler.cli.terminal.run.progress import open_progress
from ostler.cli.terminal.run.run_summary import print_run_summary
from ostler.cli.terminal.run.show_run import show_progress
from ostler.cli.terminal.streams import ignore_closed_output
from ostler.cli.terminal.text import format_table, format_timestamp
from ostler.clock import format_local_time
from ostler.errors import UsageError
from ostler.model.outcome import combine_exit_codes, combine_with_holds, combine_with_refusal
from ostler.process.orphans import become_subreaper
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_start, is_cluster
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project
from ostler.project.running.active_runs import register_run
from ostler.project.running.scheduled_runs import list_schedules
from ostler.project.running.schedules import Scheduler
from ostler.project.running.worker import Worker


@click.command("worker")
@click.option(
    "--once", is_flag=True, help="Start the tasks scheduled for this minute, run all ready tasks, and exit."
)
@click.option("--list", "listed", is_flag=True, help="List all schedules and their next times.")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help='Tasks to run in parallel, or "auto".')
@click.option("--queue", metavar="NAME", help="In a cluster: the task queue.  [default: engine.queue]")
@click.option(
    "--labels", metavar="NAMES", help="In a cluster: also run tasks with these labels, separated by commas."
)
@json_option
def command(
    once: bool, listed: bool, jobs: int | None, queue: str | None, labels: str | None, as_json: bool
) -> int:
    """Keep running ready tasks and start scheduled ones.

    \b
    A schedule is a cron expression in local time:
      schedule: "0 6 * * 1"      # minute hour day month weekday
    in .agents/pipelines/NAME.yaml, or in the front matter of .agents/tasks/NAME.md.

    Several workers start each scheduled time once. Times that passed while no worker ran are skipped.
    Ctrl-C stops the agents and keeps all work; press it again to stop at once. In a cluster, Ctrl-C and
    SIGTERM leave the tasks to the other workers.
    """
    flags = {"run.jobs": jobs, "engine.queue": queue}
    overrides = {key: value for key, value in flags.items() if value is not None}
    with open_project(overrides, create=not listed, adds_tasks=False) as project:
        if is_cluster(project.settings):
            return _run_in_cluster(project, once, listed, labels, as_json)
        _refuse_cluster_options({"--queue": queue, "--labels": labels})
        if listed:
            _print_schedules(project, as_json)
            return 0
        remember_project(project.layout.root, os.environ)
        print_warnings(check_start(project))
        print_unconfined(project)
        return run_loop(_run_worker(project, once, as_json))


def _run_in_cluster(project: Project, once: bool, listed: bool, labels: str | None, as_json: bool) -> int:
    # They load the client of the Temporal server.
    from ostler.cli.commands.work.run_in_cluster import (  # noqa: PLC0415
        parse_labels,
        run_cluster_worker,
    )

    if listed:
        _print_schedules(project, as_json)
        return 0
    if once:
        raise UsageError('--once has no effect with engine.kind = "temporal"', "ostler run --all")
    names = parse_labels(labels)
    print_warnings(check_start(project))
    print_unconfined(project)
    return run_loop(run_cluster_worker(project, names, as_json))


def _refuse_cluster_options(options: dict[str, str | None]) -> None:
    """Raise UsageError for an option that only a worker of a cluster has."""
    if given := [name for name, value in options.items() if value is not None]:
        raise UsageError(
            f'{given[0]} needs engine.kind = "temporal": a worker of this machine runs all tasks',
            f"omit {given[0]}",
        )


async def _run_worker(project: Project, once: bool, as_json: bool) -> int:
    become_subreaper()
    ignore_closed_output()
    ostler = Ostler(project, os.environ, print_message=print_hint)
    try:
        worker = Worker(ostler, print_hint)
        signals = SignalHandler(partial(stop_run, worker), request=project.journal.stop_request)
        if not once and not as_json:
            print_hint(_format_greeting(worker.scheduler))
        with register_run(project.layout):
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


def _print_schedules(project: Project, as_json: bool) -> None:
    found = list_schedules(project, time.time())
    for mistake in found.skipped:
        print_hint(f"skipped until it is fixed: {mistake}")
    if as_json:
        print_json(found)
    elif found.schedules:
        rows = [
            (
                one.name,
                format_timestamp(one.next),
                f"{one.last.status} {format_timestamp(one.last.at)}" if one.last else "",
                one.schedule,
                one.where,
            )
            for one in found.schedules
        ]
        print_text(format_table(("name", "next", "last", "schedule", "file"), rows))
        print_hint("\nNext: ostler worker")
    else:
        print_text('No schedules.  Next: add schedule: "0 6 * * 1" to .agents/pipelines/NAME.yaml')
