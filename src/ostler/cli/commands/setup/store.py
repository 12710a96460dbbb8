"""ostler store"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_count
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.model.rows import decode_state
from ostler.model.status import TERMINAL
from ostler.project.project import Project


@click.group("store")
def command() -> None:
    """Bring the journal to a PostgreSQL server, or the tasks to another machine.

    store.url names the server. Without it the journal is a file: see ostler journal.
    """


@command.command("copy")
@json_option
def copy_command(as_json: bool) -> None:
    """Copy the journal from its file to the server of store.url.

    Set store.url first. Tasks, costs and positions stay the same. The schema must be new or without tasks,
    and no run may be active. Everything is copied, or nothing. The file is kept under another name.
    """
    from ostler.project.recovery.copy_store import copy_store  # noqa: PLC0415

    root = find_root(Path.cwd(), os.environ)
    if root is None:
        raise UsageError(f"no Ostler project in {Path.cwd()} or above it", "create one: ostler init")
    done = copy_store(Layout(root), os.environ)
    if as_json:
        print_json({"schema": "ostler.store-copy/1", **to_builtins(done)})
        return
    counts = f"{format_count(done.tasks, 'task')}, {format_count(done.lines, 'event')}"
    what = "was copied before" if done.was_complete else f"is copied: {counts}"
    print_text(f"The journal {what}. It is now in {done.store}.")
    print_text(f"The old file is kept as {done.kept}.")
    with open_project() as project:
        begun = _count_begun(project)
    if begun:
        have = "1 task has" if begun == 1 else f"{begun} tasks have"
        print_hint(f"{have} begun, with commits on this machine only: start ostler worker here first.")
    print_hint("Next: ostler status")


def _count_begun(project: Project) -> int:
    """Return how many unfinished tasks other machines could not continue."""
    if not project.settings.engine.moves_tasks:
        return 0
    return sum(
        bool(decode_state(row).commit) for row in project.journal.open_rows() if row.status not in TERMINAL
    )


@command.command("take-over")
@json_option
def take_over_command(as_json: bool) -> None:
    """Run the tasks on this machine from now on, when another one did.

    With engine.kind = "local" one machine runs the tasks of a project, as it alone sees whether its runs are
    alive. First stop the runs there, and fetch the branches of unfinished tasks from there.
    """
    from ostler.project.cluster.machine import take_over  # noqa: PLC0415

    with open_project() as project:
        before = take_over(project)
    if as_json:
        print_json({"schema": "ostler.store-machine/1", "before": before})
        return
    print_text("This machine runs the tasks now." + (f" {before} did before." if before else ""))
