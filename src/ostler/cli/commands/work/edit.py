"""ostler edit"""

from __future__ import annotations

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.editor import edit_text
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITY_NAMES, WEIGHTS, PriorityName, Weight
from ostler.project.project import Project
from ostler.project.tasks.edit import TaskChanges, edit_task, find_changed_fields, record_edit
from ostler.prompt.task_text import write_task
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json


@click.command("edit")
@click.argument("task", metavar="ID")
@click.option("--title", metavar="TEXT", help="The new title.")
@click.option("-d", "--description", "--body", "body", metavar="TEXT", help="The new description.")
@click.option(
    "--priority",
    metavar="P",
    type=click.Choice(PRIORITY_NAMES),
    help="P0, which runs first, to P4; or high, medium, low, background.",
)
@click.option(
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    help=f"The size: {', '.join(WEIGHTS)}; only before the first run.",
)
@click.option("--executor", metavar="NAME", help='The agent; "" for that of the settings.')
@click.option("--model", metavar="NAME", help='The model; "" for that of the settings.')
@click.option(
    "--after",
    metavar="ID",
    multiple=True,
    help='Start after this task; repeatable; "" for none; only before the first run.',
)
@click.option("--budget-usd", metavar="USD", type=float, help="The maximum cost in US dollars; 0 for none.")
@json_option
def command(
    task: str,
    title: str | None,
    body: str | None,
    priority: PriorityName | None,
    weight: Weight | None,
    executor: str | None,
    model: str | None,
    after: tuple[str, ...],
    budget_usd: float | None,
    as_json: bool,
) -> None:
    """Edit an open task; without options, in $EDITOR.

    The next agent call uses the new values. Weight, phases and dependencies can change only before the first
    run.
    """
    changes = TaskChanges(
        title=title,
        body=body,
        priority=priority,
        weight=weight,
        executor=executor,
        model=model,
        after=tuple(filter(None, after)) if after else None,
        budget_usd=_validate_budget(budget_usd),
    )
    with open_project() as project:
        found = project.resolve(task)
        is_given = changes != TaskChanges()
        view = edit_task(project, found, changes) if is_given else _edit_in_editor(project, found)
    if as_json:
        print_json(task_json(view))
    else:
        step = next_step(view)
        print_hint(f"{view.id} is edited." + (f"  Next: {step}" if step else ""))


def _edit_in_editor(project: Project, task: TaskId) -> TaskView:
    current = project.task(task)
    text = edit_text(write_task(current), f"{task}.md")
    return record_edit(project, task, find_changed_fields(text, current, f"{task}.md"), "editor")


def _validate_budget(usd: float | None) -> float | None:
    if usd is not None and not 0 <= usd <= 1e12:
        raise UsageError(f"invalid --budget-usd {usd:g}: expected 0 or more", "use 0 for no limit")
    return usd
