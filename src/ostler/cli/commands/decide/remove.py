"""ostler rm"""

from __future__ import annotations

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.model.ids import TaskId
from ostler.project.actions import ACTIONS
from ostler.project.disposal.dispose import finish_disposals, remove_tasks
from ostler.views.task import as_json as task_json


@click.command("rm", help=f"{ACTIONS['rm'].details} All of the named tasks are deleted, or none.")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@json_option
def command(tasks: tuple[str, ...], as_json: bool) -> None:
    """Delete tasks that never ran."""
    with open_project() as project:
        finished = finish_disposals(project)  # of a call that was killed
        named = [project.resolve(text) for text in tasks if TaskId(text) not in finished]
        views = remove_tasks(project, named)
    for view in views if as_json else ():
        print_json(task_json(view))
    for task in (*finished, *named) if not as_json else ():
        print_hint(f"{task} is removed.")
