"""ostler cleanup"""

from __future__ import annotations

import click

from ostler.cli.commands.setup.worktree import print_pruned
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.project.active_runs import delete_ended_logs
from ostler.project.tasks.worktrees import delete_merged_branches, prune_worktrees


@click.command("cleanup")
@click.option("--branches", is_flag=True, help="Also delete branches that are merged into their target.")
@json_option
def command(branches: bool, as_json: bool) -> None:
    """Delete the worktrees of ended tasks and the logs of ended detached runs."""
    with open_project() as project:
        removed, kept = prune_worktrees(project)
        dropped = delete_merged_branches(project) if branches else []
        logs = [str(log) for log in delete_ended_logs(project.layout)]
    if as_json:
        worktrees = {"removed": [one.path for one in removed], "kept": [one.path for one in kept]}
        print_json({"schema": "ostler.cleanup/1", **worktrees, "branches": dropped, "logs": logs})
        return
    if removed or kept or not (dropped or logs):
        print_pruned(removed, kept)
    if logs:
        print_text(f"Deleted {len(logs)} {'log' if len(logs) == 1 else 'logs'} of detached runs.")
    for branch in dropped:
        print_text(f"Deleted the merged branch {branch}.")
