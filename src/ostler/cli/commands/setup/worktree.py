"""ostler worktree"""

from __future__ import annotations

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import STATUS_COLOURS, format_table
from ostler.project.tasks.worktrees import TaskWorktree, list_worktrees, prune_worktrees


@click.group("worktree")
def command() -> None:
    """List and prune the worktrees of tasks."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the worktrees of this project and their state."""
    with open_project() as project:
        places = list_worktrees(project)
    if as_json:
        print_json({"schema": "ostler.worktrees/1", "worktrees": [to_builtins(place) for place in places]})
    elif not places:
        print_text("No worktrees: a task has one from its start until it is completed.")
    else:
        colours = [STATUS_COLOURS.get(place.status, "") for place in places]
        print_text(
            format_table(
                ("task", "status", "branch", "state"), [_format_row(place) for place in places], colours, ()
            )
        )


@command.command("prune")
@click.argument("tasks", metavar="[ID]...", nargs=-1)
@click.option("--force", is_flag=True, help="Also remove worktrees with uncommitted work, which is lost.")
@json_option
def prune_command(tasks: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Remove the worktrees of ended tasks, all or the named ones, and the spare ones; branches are kept."""
    with open_project() as project:
        removed, kept = prune_worktrees(project, force, tuple(project.resolve(one) for one in tasks))
    if as_json:
        print_json(
            {
                "schema": "ostler.pruned/1",
                "removed": [place.path for place in removed],
                "kept": [place.path for place in kept],
            }
        )
        return
    print_pruned(removed, kept)


def print_pruned(removed: list[TaskWorktree], kept: list[TaskWorktree]) -> None:
    """Print what was removed, and what was kept because of files that no commit contains."""
    spare = sum(place.warm for place in removed)
    note = f", {spare} of them spare" if spare else ""
    noun = "worktree" if len(removed) == 1 else "worktrees"
    print_text(f"Removed {len(removed)} {noun}{note}." if removed else "No worktrees to remove.")
    for place in kept:
        what = "uncommitted work" if place.uncommitted else "files that no commit contains"
        command = " ".join(("ostler worktree prune --force", place.task)).strip()
        print_hint(f"Kept {place.path}: it has {what}.  Next: {command}")


def _format_row(place: TaskWorktree) -> tuple[str, ...]:
    if place.warm:
        return "none", "released", "", "spare, reused by the next task"
    state = "in use" if place.in_use else "uncommitted" if place.uncommitted else "committed"
    return place.task or "none", place.status or "no task", place.branch or "", state
