"""ostler attach"""

from __future__ import annotations

import shlex

import click

from ostler.cli.commands.work.shell import no_sandbox_option
from ostler.cli.options import open_project
from ostler.cli.terminal.foreground import run_in_task
from ostler.project.tasks.take_over import find_session_command, take_over


@click.command("attach")
@click.argument("task", metavar="ID")
@no_sandbox_option
def command(task: str, no_sandbox: bool) -> int:
    """Continue a task's session in the agent's own program, in the task's sandbox.

    No run can claim the task while the program is open. The next run continues the same session.
    """
    with open_project() as project:
        found = project.resolve(task)
        with take_over(project, found) as taken:
            session = find_session_command(project, found)
            argv, hint = session.argv, shlex.join(session.argv)
            return run_in_task(
                project, found, taken, argv, hint, no_sandbox=no_sandbox, executor=session.executor
            )
