"""ostler retry"""

from __future__ import annotations

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.views.task import as_json as task_json


@click.command("retry")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@json_option
def command(tasks: tuple[str, ...], as_json: bool) -> None:
    """Make tasks pending again that failed, were cancelled or wait for you; their history stays."""
    with open_project() as project:
        for found in [project.resolve(task) for task in tasks]:
            view = project.retry(found)
            if as_json:
                emit(task_json(view))
            else:
                hint(f"{found} is pending again.  Next: ostler run {found}")
