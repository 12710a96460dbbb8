"""ostler edit"""

from __future__ import annotations

from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.editor import edit_kept, hold_text, read_kept_text
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import OstlerError, UsageError
from ostler.files.atomic import write_projection
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITY_NAMES, WEIGHTS, PriorityName, Weight
from ostler.project.project import Project
from ostler.project.tasks.edit import (
    NothingChanged,
    TaskChanges,
    edit_task,
    record_edit,
    record_file_edit,
)
from ostler.project.tasks.files.edited_file import find_changed_fields
from ostler.prompt.task_text import write_task
from ostler.secrets.redact import redact_text
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

# In the task's directory: a text that is not saved yet, and the text of the task that it started from.
_DRAFT, _DRAFT_BASE, _LOCK = "draft.md", "draft-base.md", "draft.lock"


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
    "-w",
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
@click.option(
    "--timeout",
    "timeout_seconds",
    metavar="SECONDS",
    type=float,
    help="The timeout of one attempt; 0 for that of the settings.",
)
@click.option(
    "--retries",
    "max_retries",
    metavar="N",
    type=int,
    help="Retries on one model; -1 for those of the settings.",
)
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
    timeout_seconds: float | None,
    max_retries: int | None,
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
        timeout_seconds=timeout_seconds,
        max_retries=max_retries,
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
    """Open the task, or the draft that was not saved; a text that is refused is kept as a draft."""
    record_file_edit(project, task)
    folder, command = project.layout.task(task), f"ostler edit {task}"
    draft, base = folder / _DRAFT, folder / _DRAFT_BASE
    with hold_text(folder / _LOCK, command):
        kept, before = read_kept_text(draft), write_task(project.task(task))
        if kept:
            # What the draft did not change keeps the values that it has now.
            before = read_kept_text(base) or before
            shown = project.layout.shown_task(task) / _DRAFT
            print_hint(f"Continuing with the text that was not saved; delete {shown} to start from the task.")
        write_projection(base, before.encode())
        text = edit_kept(draft, kept or before, command)
        try:
            view = record_edit(project, task, find_changed_fields(text, before, f"{task}.md"), "editor")
        except NothingChanged:
            _delete(draft, base)
            raise
        except OstlerError as error:
            write_projection(draft, redact_text(text).encode())
            hint = f"your text is kept; correct it: {command}"
            raise UsageError(error.message, hint) from None
        _delete(draft, base)
        return view


def _delete(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _validate_budget(usd: float | None) -> float | None:
    if usd is not None and not 0 <= usd <= 1e12:
        raise UsageError(f"invalid --budget-usd {usd:g}: expected 0 or more", "use 0 for no budget")
    return usd
