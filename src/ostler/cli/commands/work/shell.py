"""ostler shell"""

from __future__ import annotations

import os

import click

from ostler.cli.options import open_project
from ostler.cli.terminal.foreground import run_in_task
from ostler.project.tasks.take_over import take_over

no_sandbox_option = click.option(
    "--no-sandbox", is_flag=True, help="Start it with all your files and your whole environment."
)


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("task", metavar="ID")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]...")
@no_sandbox_option
def command(task: str, program: tuple[str, ...], no_sandbox: bool) -> int:
    """Open a shell in a task's worktree and sandbox, or run a command there.

    No run can claim the task while the shell is open. The next run continues with
    the files as you leave them.
    """
    with open_project() as project:
        found = project.resolve(task)
        with take_over(project, found) as taken:
            argv = program or (os.environ.get("SHELL") or "/bin/sh",)
            hint = "" if program else "exit ends the shell and releases the task"
            return run_in_task(project, found, taken, argv, hint, no_sandbox=no_sandbox)
