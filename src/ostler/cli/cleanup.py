"""ostler cleanup"""

from __future__ import annotations

import click

from ostler.cli.out import emit, json_option, open_project, say
from ostler.cli.worktree import tell
from ostler.project.run_log import drop_logs
from ostler.project.worktrees import drop_merged_branches, prune


@click.command("cleanup")
@click.option("--branches", is_flag=True, help="Also delete the branches whose work is in their target.")
@json_option
def command(branches: bool, as_json: bool) -> None:
    """Take away what is over: worktrees, logs of detached runs, and merged branches if you say so."""
    with open_project() as project:
        taken, left = prune(project)
        dropped = drop_merged_branches(project) if branches else []
        logs = [str(log) for log in drop_logs(project.layout)]
    if as_json:
        paths = [place.path for place in taken], [place.path for place in left]
        found = {"taken": paths[0], "left": paths[1], "branches": dropped, "logs": logs}
        emit({"schema": "ostler.cleanup/1", **found})
        return
    if taken or left or not (dropped or logs):
        tell(taken, left)
    if logs:
        say(f"deleted {len(logs)} {'log' if len(logs) == 1 else 'logs'} of detached runs that have ended")
    for branch in dropped:
        say(f"deleted {branch}, which is merged")
