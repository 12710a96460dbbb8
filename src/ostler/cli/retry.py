"""ostler retry"""

from __future__ import annotations

import click

from ostler.cli.new import checked_budget
from ostler.cli.out import emit, hint, json_option, open_project
from ostler.views.task import as_json as task_json


@click.command("retry")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--budget-usd",
    metavar="USD",
    type=float,
    help="What each may cost in all, with what it has cost already.",
)
@json_option
def command(tasks: tuple[str, ...], budget_usd: float | None, as_json: bool) -> None:
    """Make tasks pending again that failed, were cancelled or wait for you; their history stays."""
    usd = checked_budget(budget_usd)
    with open_project() as project:
        for found in [project.resolve(task) for task in tasks]:
            view = project.retry(found, usd)
            if as_json:
                emit(task_json(view))
            else:
                hint(f"{found} is pending again.  Next: ostler run {found}")
