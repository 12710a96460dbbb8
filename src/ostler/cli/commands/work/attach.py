"""ostler attach"""

from __future__ import annotations

import os
import shlex

import click

from ostler.cli.options import open_project
from ostler.cli.terminal.output import print_hint
from ostler.process.tool import run_in_foreground
from ostler.project.tasks.take_over import (
    build_environment,
    describe_changes,
    find_session_command,
    take_over,
)


@click.command("attach")
@click.argument("task", metavar="ID")
def command(task: str) -> int:
    """Continue a task's session in the agent's own program.

    No run can claim the task while the program is open. The next run continues the same session.
    """
    with open_project() as project:
        found = project.resolve(task)
        with take_over(project, found) as taken:
            argv = find_session_command(project, found)
            print_hint(f"{found}: {shlex.join(argv)}")
            code = run_in_foreground(argv, str(taken.cwd), build_environment(os.environ, taken))
            if hint := describe_changes(project, found):
                print_hint(hint)
            return code
