"""ostler cleanup"""

from __future__ import annotations

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.worktree import tell
from ostler.project.worktrees import drop_merged_branches, prune


@click.command("cleanup")
@click.option("--branches", is_flag=True, help="Also delete the branches whose work is in their target.")
@json_option
def command(branches: bool, as_json: bool) -> None:
    """Take away what ended tasks left: worktrees, half-removed files, and merged branches if you say so."""
    with open_project() as project:
        taken, left = prune(project)
        dropped = drop_merged_branches(project) if branches else []
    if as_json:
        paths = [place.path for place in taken], [place.path for place in left]
        emit({"schema": "ostler.cleanup/1", "taken": paths[0], "left": paths[1], "branches": dropped})
        return
    tell(taken, left)
    for branch in dropped:
        say(f"deleted {branch}, which is merged")
