"""The commands that record a decision about tasks, made from the table of actions."""

from __future__ import annotations

import os
from typing import Any, get_args, get_type_hints

import click
import msgspec

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.actions import ACTIONS, Action, decode_params
from ostler.project.apply_action import apply_action
from ostler.project.bulk_retry import RetryFilter, find_retryable
from ostler.project.project import Project
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

_FLAGS = {
    "text": (("-m", "--message"), "TEXT"),
    "reason": (("--reason",), "TEXT"),
    "phase": (("--phase",), "NAME"),
    "budget_usd": (("--budget-usd",), "USD"),
    "model": (("--model",), "NAME"),
    "executor": (("--executor",), "NAME"),
    "attempt": (("--attempt",), "N"),
    "now": (("--now",), ""),
}
_TYPES: dict[str, type] = {"budget_usd": float, "attempt": int, "now": bool}
_FILTERS = RetryFilter.__struct_fields__
# `rewind --to PHASE` reads better than --phase.
_SPECIAL_FLAGS = {("rewind", "phase"): (("--to",), "PHASE")}


def make_command(name: str) -> click.Command:
    """Return the command of one action."""
    action = ACTIONS[name]

    def run(tasks: tuple[str, ...], as_json: bool, **given: Any) -> None:
        filters = {key: given.pop(key) for key in _FILTERS if key in given}
        values = {key: value for key, value in given.items() if value is not None}
        _require_texts(action, values)
        params = decode_params(action, values)
        with open_project() as project:
            for task in _find_tasks(project, tasks, filters, as_json):
                view = apply_action(project, os.environ, task, name, **values)
                _print_result(view, as_json, action.describe_result(view.status, params))

    command = click.command(name, help=action.details)(run)
    ids = click.Argument(["tasks"], nargs=-1, required=name != "retry", metavar="ID...")
    command.params = [ids, *(_filter_options() if name == "retry" else ()), *_options(action)]
    return json_option(command)


def _filter_options() -> list[click.Parameter]:
    """Return the options that name many tasks at once instead of ids."""
    metavars = {"code": "CODE", "since": "TIME"}
    hints = get_type_hints(RetryFilter, include_extras=True)
    return [
        click.Option(
            [f"--{name}"],
            is_flag=name not in metavars,
            metavar=metavars.get(name),
            help=get_args(hints[name])[1].description,
        )
        for name in _FILTERS
    ]


def _find_tasks(
    project: Project, tasks: tuple[str, ...], filters: dict[str, Any], as_json: bool
) -> list[TaskId]:
    """Return the named tasks, or those that the filters match; raise UsageError for both or neither."""
    if bool(tasks) == any(filters.values()):
        if not filters:
            return [project.resolve(text) for text in tasks]
        raise UsageError(
            "pass either task ids, or --failed, --code or --since",
            "ostler retry ID...   or   ostler retry --failed",
        )
    if tasks:
        return [project.resolve(text) for text in tasks]
    found = find_retryable(project, RetryFilter(**{name: value for name, value in filters.items() if value}))
    if not found and not as_json:
        print_hint("No task matches.  Next: ostler status")
    return found


def _require_texts(action: Action, values: dict[str, object]) -> None:
    """Raise UsageError for a required text that is blank."""
    for field in msgspec.structs.fields(action.params):
        if field.required and not str(values[field.name]).strip():
            raise UsageError(f"{_flags(action, field)[0][-1]} must not be empty")


def _flags(action: Action, field: msgspec.structs.FieldInfo) -> tuple[tuple[str, ...], str]:
    """Return the flags and the metavar of a parameter."""
    return _SPECIAL_FLAGS.get((action.name, field.name), _FLAGS[field.name])


def _options(action: Action) -> list[click.Parameter]:
    hints = get_type_hints(action.params, include_extras=True)
    return [_option(action, field, hints[field.name]) for field in msgspec.structs.fields(action.params)]


def _option(action: Action, field: msgspec.structs.FieldInfo, hint: Any) -> click.Parameter:
    flags, metavar = _flags(action, field)
    description = next((meta.description for meta in get_args(hint)[1:] if meta.description), "")
    return click.Option(
        [*flags, field.name],
        metavar=metavar or None,
        type=_TYPES.get(field.name, str),
        is_flag=not metavar,
        required=field.required,
        help=description,
    )


def _print_result(view: TaskView, as_json: bool, message: str) -> None:
    """Print the task's state: as JSON, or in one sentence with the next step."""
    if as_json:
        print_json(task_json(view))
        return
    step = next_step(view)
    print_hint(f"{view.id} {message}" + (f"  Next: {step}" if step else ""))
