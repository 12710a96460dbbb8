"""ostler shell"""

from __future__ import annotations

import os

import click

from ostler.cli.options import open_project
from ostler.cli.terminal.output import print_hint
from ostler.process.tool import run_in_foreground
from ostler.project.tasks.take_over import build_environment, describe_changes, take_over


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("task", metavar="ID")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]...")
def command(task: str, program: tuple[str, ...]) -> int:
    """Open a shell in a task's worktree, or run a command there.

    No run can claim the task while the shell is open. The next run continues with
    the files as you leave them.
    """
    with open_project() as project:
        found = project.resolve(task)
        with take_over(project, found) as taken:
            argv = list(program) or [os.environ.get("SHELL") or "/bin/sh"]
            if not program:
                print_hint(f"{found}: {taken.cwd}  (exit ends the shell and releases the task)")
            code = run_in_foreground(argv, str(taken.cwd), build_environment(os.environ, taken))
            if hint := describe_changes(project, found):
                print_hint(hint)
            return code
