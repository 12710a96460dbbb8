"""ostler ps"""

from __future__ import annotations

import sys

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.process_table import format_orphans, format_processes
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.errors import UsageError
from ostler.project.processes.orphans import find_orphans, view_orphan
from ostler.project.processes.running import read_processes
from ostler.views.machine import OrphanView


@click.command("ps")
@click.option("--all", "everywhere", is_flag=True, help="Also list the attempts of your other projects.")
@click.option("--orphans", is_flag=True, help="List the processes that a dead run left behind.")
@json_option
def command(everywhere: bool, orphans: bool, as_json: bool) -> None:
    """List the agents that run now, with their processes, and running gate and setup commands.

    CPU is the average share of one core since the start, of an agent and all its processes. IDLE is the time
    since its last output. Of other projects, only what their processes show is known.
    """
    if everywhere and orphans:
        raise UsageError("--all cannot be combined with --orphans", "run ostler ps --orphans in each project")
    with open_project() as project:
        if orphans:
            _print_orphans([view_orphan(project, tree) for tree in find_orphans(project)], as_json)
            return
        view, left = read_processes(project, everywhere), find_orphans(project)
    if as_json:
        print_json(view)
        return
    if not view.attempts and not view.others:
        print_text("Nothing runs." if left else "Nothing runs.  Next: ostler status")
    else:
        print_text(format_processes(view, with_project=everywhere))
    if left:
        count = f"{len(left)} orphans of a dead run are" if len(left) > 1 else "1 orphan of a dead run is"
        print_hint(f"{count} left.  Next: ostler ps --orphans")
    elif view.attempts and sys.stdout.isatty():
        print_hint(f"\nNext: ostler log {view.attempts[0].task} -f   or   ostler kill {view.attempts[0].id}")


def _print_orphans(found: list[OrphanView], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.orphans/1", "orphans": found})
    elif not found:
        print_text("No orphans: every process of an agent or gate belongs to a run that is alive.")
    else:
        print_text(format_orphans(found))
        print_hint("\nNext: ostler kill --orphans")
