"""ostler cleanup"""

from __future__ import annotations

import os

import click

from ostler.cli.commands.setup.worktree import print_pruned
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_json, print_text
from ostler.project.running.active_runs import delete_ended_logs
from ostler.project.tasks.worktrees import delete_merged_branches, prune_worktrees
from ostler.sandbox.environments.cache import remove_unused_environments


@click.command("cleanup")
@click.option("--branches", is_flag=True, help="Also delete branches that are merged into their target.")
@json_option
def command(branches: bool, as_json: bool) -> None:
    """Delete the worktrees of ended tasks, the logs of ended detached runs, and unused gate environments.

    Environments of lockfiles are shared by all your projects; a gate builds one again when it needs it.
    """
    with open_project() as project:
        removed, kept = prune_worktrees(project)
        dropped = delete_merged_branches(project) if branches else []
        logs = [str(log) for log in delete_ended_logs(project.layout)]
    environments = remove_unused_environments(os.environ)
    if as_json:
        worktrees = {"removed": [one.path for one in removed], "kept": [one.path for one in kept]}
        more = {"branches": dropped, "logs": logs, "environments": [one.key for one in environments]}
        print_json({"schema": "ostler.cleanup/1", **worktrees, **more})
        return
    if removed or kept or not (dropped or logs or environments):
        print_pruned(removed, kept)
    if logs:
        print_text(f"Deleted {len(logs)} {'log' if len(logs) == 1 else 'logs'} of detached runs.")
    if environments:
        size = sum(one.size_bytes for one in environments) / 1_000_000
        noun = "environment" if len(environments) == 1 else "environments"
        print_text(f"Deleted {len(environments)} gate {noun} ({size:.0f} MB).")
    for branch in dropped:
        print_text(f"Deleted the merged branch {branch}.")
