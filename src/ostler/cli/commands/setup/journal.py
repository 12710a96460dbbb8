"""ostler journal"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_count
from ostler.config.find import find_root
from ostler.errors import CODES, Code, UsageError
from ostler.files.layout import Layout
from ostler.project.stores import find_store, require_file

if TYPE_CHECKING:
    from ostler.project.recovery.rebuild import Rebuilt


@click.group("journal")
def command() -> None:
    """Back up, check or rebuild the journal, which records everything about your tasks.

    It is in the git directory (.git/ostler/ostler.db), or in .ostler without git.
    """


@command.command("backup")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@json_option
def backup_command(path: Path | None, as_json: bool) -> None:
    """Copy the journal to PATH, also while tasks run.

    PATH is a new file or a directory; without it the copy is written beside the journal.
    """
    from ostler.project.recovery.backup import back_up_journal  # noqa: PLC0415

    with open_project() as project:
        copy = back_up_journal(project, path)
    if as_json:
        print_json({"schema": "ostler.journal-backup/1", "path": str(copy)})
        return
    print_text(f"Copied the journal to {copy}.")
    print_hint(f"To restore it: ostler journal rebuild --from {copy}")


@command.command("check")
@json_option
def check_command(as_json: bool) -> int:
    """Check the journal: its file, its id, the records of each task, and the files beside it.

    Exits with 0 if everything is correct, else with 3.
    """
    from ostler.project.recovery.check import check_journal  # noqa: PLC0415

    found = check_journal(_find_layout())
    if as_json:
        print_json({"schema": "ostler.journal/1", **to_builtins(found)})
    else:
        for one in found.findings:
            print_text(one.message + (f"\n  Next: {one.next_step}" if one.next_step else ""))
        if not found.findings:
            counts = f"{format_count(found.tasks, 'task')}, {format_count(found.records, 'record')}"
            print_text(f"The journal {found.path} is correct: {counts}.")
    return CODES[Code.JOURNAL_LOST].exit if found.findings else 0


@command.command("rebuild")
@click.option(
    "--from",
    "backup",
    type=click.Path(path_type=Path),
    help="Restore this copy instead.",
    metavar="PATH",
)
@click.option("--other-project", is_flag=True, help="Accept the backup of another project.")
@json_option
def rebuild_command(backup: Path | None, other_project: bool, as_json: bool) -> int:
    """Make a new journal from what is left of a lost or damaged one.

    Uses the copy that a run rescued, else the files of the tasks. Tasks that have files, but are not in the
    copy or in the journal, are added. The old file is kept. Prints what could not be rebuilt.
    """
    from ostler.project.recovery.rebuild import rebuild_journal  # noqa: PLC0415

    layout = _find_layout()
    done = rebuild_journal(layout, os.environ, backup, foreign=other_project)
    if as_json:
        print_json({"schema": "ostler.journal-rebuild/1", "path": str(layout.database), **to_builtins(done)})
        return 1 if done.failed else 0
    for path in done.unused:
        print_hint(f"not used: {path} has records that the journal lacks, or cannot be read")
    _print_origin(done, layout)
    for task in done.tasks:
        print_text("  ".join((task.id, task.status, *task.notes)))
    for line in done.failed:
        print_hint(f"not rebuilt: {line}")
    if done.tasks:
        print_hint("Not in the files: gates, decisions and publications of the tasks. Next: ostler status")
    elif done.failed and not done.source:
        print_hint("Next: ostler journal rebuild --from PATH   restores a backup")
    return 1 if done.failed else 0


def _print_origin(done: Rebuilt, layout: Layout) -> None:
    if done.source:
        origin = "the files of the tasks" if done.source == "files" else done.source
        print_text(f"Rebuilt the journal {layout.database} from {origin}.")
    if done.kept:
        print_text(f"The old journal is kept as {done.kept}.")
    if done.tasks and done.source != "files":
        print_text("Added from the files of the tasks, as their records are missing:")
    elif not done.source and not done.failed:
        print_text("The journal is correct; nothing was changed.")


def _find_layout() -> Layout:
    root = find_root(Path.cwd(), os.environ)
    if root is None:
        raise UsageError(f"no Ostler project in {Path.cwd()} or above it", "create one: ostler init")
    layout = Layout(root)
    require_file(find_store(layout, os.environ))
    return layout
