"""ostler kill"""

from __future__ import annotations

import os

import click
from msgspec import Struct

from ostler.cli.options import json_option, open_project
from ostler.cli.process_table import format_orphans
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.actions import KillParams, name_attempt
from ostler.project.apply_action import apply_action
from ostler.project.project import Project


class _Target(Struct, frozen=True):
    task: TaskId
    number: int


@click.command("kill")
@click.argument("attempts", nargs=-1, metavar="ATTEMPT...")
@click.option("--now", is_flag=True, help="Kill at once, without the grace period (run.grace_seconds).")
@click.option("--orphans", is_flag=True, help="End the processes that a dead run left behind.")
@click.option("--dry-run", is_flag=True, help="With --orphans: list them and end nothing.")
@json_option
def command(attempts: tuple[str, ...], now: bool, orphans: bool, dry_run: bool, as_json: bool) -> int:
    """Kill running attempts: end the agent with all its processes. The task continues.

    ATTEMPT is an id that ostler ps shows, such as fix-login-a1b2:3, or the id of a task that runs one
    attempt; a unique prefix of the task is enough. The agent gets SIGTERM, and SIGKILL after
    run.grace_seconds. The attempt is recorded with AGENT_KILLED and the run retries the call as after any
    failure; it does not count towards quarantine. To end a task, use ostler cancel; to stop it for a while,
    ostler pause.
    """
    _check_usage(attempts, orphans, dry_run)
    with open_project() as project:
        if orphans:
            return _end_orphans(project, 0 if now else project.settings.run.grace_seconds, dry_run, as_json)
        targets = list(dict.fromkeys(_find_attempt(project, text) for text in attempts))
        for target in targets:
            apply_action(project, os.environ, target.task, "kill", attempt=target.number, now=now)
    if as_json:
        print_json({"schema": "ostler.killed/1", "attempts": [f"{one.task}:{one.number}" for one in targets]})
    else:
        for one in targets:
            print_hint(
                f"{one.task}:{one.number} is being killed; its run retries it.  Next: ostler show {one.task}"
            )
    return 0


def _check_usage(attempts: tuple[str, ...], orphans: bool, dry_run: bool) -> None:
    if orphans == bool(attempts):
        message = "pass either attempts or --orphans"
        raise UsageError(
            message, "ostler ps lists the attempts; ostler kill ATTEMPT...   or   ostler kill --orphans"
        )
    if dry_run and not orphans:
        raise UsageError("--dry-run needs --orphans", "ostler ps lists what runs")


def _find_attempt(project: Project, text: str) -> _Target:
    """Return the attempt with this id, or the only one that a task runs; raises UsageError."""
    name, separator, number = text.partition(":")
    if separator and not (name and number.isascii() and number.isdecimal() and int(number)):
        raise UsageError(
            f'"{text:.80}" is not an attempt', "use an id of ostler ps, such as fix-login-a1b2:3"
        )
    task = project.resolve(name if separator else text)
    params = KillParams(attempt=int(number) if separator else 0)
    return _Target(task, name_attempt(task, params, project.running_attempts(task)).attempt)


def _end_orphans(project: Project, grace_seconds: float, dry_run: bool, as_json: bool) -> int:
    # They need psutil, which takes 30 ms to load.
    from ostler.project.processes.orphans import find_orphans, kill_orphans, view_orphan  # noqa: PLC0415

    project.require_person("end processes")
    found = [(tree, view_orphan(project, tree)) for tree in find_orphans(project)]
    left = [] if dry_run or not found else kill_orphans(project, grace_seconds)
    views = [view for _, view in found]
    if as_json:
        pids = [pid for tree in left for pid in tree.pids]
        print_json({"schema": "ostler.orphans/1", "orphans": views, "ended": not dry_run, "left": pids})
    elif not views:
        print_text("No orphans: every process of an agent or gate belongs to a run that is alive.")
    else:
        print_text(format_orphans(views))
        print_hint(_summarize(len(views), len(left), dry_run))
    return 1 if left else 0


def _summarize(found: int, left: int, dry_run: bool) -> str:
    if dry_run:
        return "\nNothing was ended.  Next: ostler kill --orphans"
    if left:
        return f"\n{left} of {found} could not be ended.  Next: ostler ps --orphans"
    return "\nEnded.  Next: ostler run --all"
