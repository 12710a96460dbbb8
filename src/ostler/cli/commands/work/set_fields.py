"""ostler set"""

from __future__ import annotations

import click
import msgspec

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.config.checks.expect import describe_expected, explain_invalid, nearest
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.decisions.status_words import find_command
from ostler.project.project import Project
from ostler.project.tasks.edit import RESETS, NothingChanged, TaskChanges, edit_task
from ostler.views.next_step import next_step
from ostler.views.task import as_json as task_json

_ALIASES = {
    "description": "body",
    "budget": "budget_usd",
    "tag": "tags",
    "phase": "phases",
    "timeout": "timeout_seconds",
    "retries": "max_retries",
}
_LISTS = ("after", "tags", "phases")
_FIELDS = TaskChanges.__struct_fields__
_DEFAULTS = {one.name: one.default for one in msgspec.structs.fields(Task) if isinstance(one.default, str)}


@click.command("set")
@click.argument("task", metavar="ID")
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...")
@json_option
def command(task: str, values: tuple[str, ...], as_json: bool) -> None:
    """Set fields of an open task, as ostler edit does; for scripts.

    \b
    Fields: title, body, priority, weight, executor, model, tier, budget_usd, timeout_seconds,
            max_retries, after, tags, not_before, queue, role, phases, feature, label
    Lists are separated by commas; an empty value resets a field:

    \b
      ostler set fix-login-a1b2 priority=P0 model= after=one,two
      ostler set fix-login-a1b2 queue=first
    """
    with open_project() as project:
        found = project.resolve(task)
        changes, result = _read_changes(project, found, values), "is edited."
        try:
            view = edit_task(project, found, changes, "set")
        except NothingChanged:
            # A script may repeat the command.
            view, result = project.show(found), "has these values already."
    if as_json:
        print_json(task_json(view))
        return
    step = next_step(view)
    print_hint(f"{view.id} {result}" + (f"  Next: {step}" if step else ""))


def _read_changes(project: Project, task: TaskId, values: tuple[str, ...]) -> TaskChanges:
    """Return the new values; raise UsageError for the first that is not one."""
    given: dict[str, object] = {}
    for text in values:
        name, equals, value = text.partition("=")
        name = _ALIASES.get(name.strip().replace("-", "_"), name.strip().replace("-", "_"))
        if not equals:
            raise UsageError(f"{text!r:.80} is not FIELD=VALUE", "ostler set ID priority=P0")
        if name == "status":
            state = project.state(task)
            hint = find_command(task, value, state.status)
            raise UsageError("a status cannot be set: it is the result of a decision", hint)
        if name not in _FIELDS:
            raise UsageError(f"unknown field {name!r:.80}", _suggest(name))
        if name in given:
            raise UsageError(f"{name} is given twice", "set each field once")
        given[name] = _read_value(name, value)
    return _convert(given)


def _suggest(name: str) -> str:
    near = nearest(name, (*_FIELDS, *_ALIASES, "status"))
    return f"did you mean {near}?" if near else f"use one of {', '.join(_FIELDS)}"


def _read_value(name: str, value: str) -> object:
    if name in _LISTS:
        return [part.strip() for part in value.split(",") if part.strip()]
    return value if value.strip() else str((RESETS | _DEFAULTS).get(name, value))


def _convert(given: dict[str, object]) -> TaskChanges:
    try:
        return msgspec.convert(given, TaskChanges, strict=False)
    except msgspec.ValidationError as error:
        name, reason = explain_invalid(error)
        kinds = {field.name: field.type for field in msgspec.structs.fields(TaskChanges)}
        expected = f"expected {describe_expected(kinds[name])}" if name in kinds else reason
        raise UsageError(f"invalid {name} {given.get(name)!r:.80}", expected) from None
