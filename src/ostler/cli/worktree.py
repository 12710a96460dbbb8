"""ostler worktree"""

from __future__ import annotations

import click
from msgspec import to_builtins

from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.text import STATUS_COLOURS, table
from ostler.project.worktrees import Place, list_places, prune


@click.group("worktree")
def command() -> None:
    """The worktrees of tasks."""


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Every worktree that Ostler made here, and what it is needed for."""
    with open_project() as project:
        places = list_places(project)
    if as_json:
        emit({"schema": "ostler.worktrees/1", "worktrees": [to_builtins(place) for place in places]})
    elif not places:
        say("No worktrees.  A task has one from its start until it is completed.")
    else:
        colours = [STATUS_COLOURS.get(place.status, "") for place in places]
        say(table(("task", "status", "branch", "state"), [_row(place) for place in places], colours, ()))


@command.command("prune")
@click.option("--force", is_flag=True, help="Also those with work that is not committed; it is lost.")
@json_option
def prune_command(force: bool, as_json: bool) -> None:
    """Take away the worktrees of ended tasks, and those kept for the next one; branches stay."""
    with open_project() as project:
        taken, left = prune(project, force)
    if as_json:
        emit(
            {
                "schema": "ostler.pruned/1",
                "taken": [place.path for place in taken],
                "left": [place.path for place in left],
            }
        )
        return
    tell(taken, left)


def tell(taken: list[Place], left: list[Place]) -> None:
    """What was taken away, and what stays and why."""
    warm = sum(place.warm for place in taken)
    kept = f"; {warm} of them waited for the next task" if warm else ""
    say(f"{len(taken)} taken away{kept}" if taken else "Nothing to take away.")
    for place in left:
        hint(f"{place.path} stays: it has work that is not committed.  --force takes it away")


def _row(place: Place) -> tuple[str, ...]:
    if place.warm:
        return "none", "released", "", "kept for the next task"
    state = "in use" if place.in_use else "not committed" if place.uncommitted else "committed"
    return place.task or "none", place.status or "no task", place.branch or "", state
