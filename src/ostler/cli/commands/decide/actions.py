"""The commands that record a decision about tasks, made from the table of actions."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, get_args, get_type_hints

import click
import msgspec

from ostler.cli.options import json_option, open_project, refuse_empty
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.actions import ACTIONS, Action, decode_params
from ostler.project.apply_action import apply_action
from ostler.project.bulk_retry import RetryFilter, find_retryable
from ostler.project.disposal.ended import ArchiveFilter, find_archivable
from ostler.project.project import Project
from ostler.views.next_step import next_step
from ostler.views.task import TaskView
from ostler.views.task import as_json as task_json

_FLAGS = {
    "text": (("-m", "--message"), "TEXT"),
    "reason": (("-m", "--reason"), "TEXT"),
    "phase": (("--phase",), "NAME"),
    "budget_usd": (("--budget-usd",), "USD"),
    "model": (("--model",), "NAME"),
    "executor": (("--executor",), "NAME"),
    "undo": (("--undo",), ""),
    "branches": (("--branches",), ""),
    "attempt": (("--attempt",), "N"),
    "now": (("--now",), ""),
    "then": (("--then",), "HOW"),
}
_TYPES: dict[str, type] = {"budget_usd": float, "attempt": int}
_NAMES = {"since": "TIME", "code": "CODE", "older_than": "AGE"}
# How many tasks are named at once: the filters, and the function that finds the tasks.
_BULK: dict[str, tuple[type[RetryFilter | ArchiveFilter], Callable[..., list[TaskId]]]] = {
    "retry": (RetryFilter, find_retryable),
    "archive": (ArchiveFilter, find_archivable),
}
# `rewind --to PHASE` reads better than --phase, and a rejection needs a reason, as a skip does.
_SPECIAL_FLAGS = {
    ("rewind", "phase"): (("--to",), "PHASE"),
    ("reject", "text"): (("-m", "--reason", "--message"), "TEXT"),
}


def make_command(name: str) -> click.Command:
    """Return the command of one action."""
    action = ACTIONS[name]

    def run(tasks: tuple[str, ...], as_json: bool, **given: Any) -> None:
        filters = {key: given.pop(key) for key in _list_filters(name)}
        values = {key: value for key, value in given.items() if value is not None}
        _require_texts(action, values)
        params = decode_params(action, values)
        with open_project() as project:
            for task in _find_tasks(project, name, tasks, filters, as_json, undo=bool(given.get("undo"))):
                with _keeping_text(project, task, name, values):
                    view = apply_action(project, os.environ, task, name, **values)
                _print_result(view, as_json, action.describe_result(view.status, params))

    command = click.command(name, help=action.details)(run)
    ids = click.Argument(["tasks"], nargs=-1, required=name not in _BULK, metavar="ID...")
    command.params = [ids, *_filter_options(name), *_options(action)]
    return json_option(command)


def _keeping_text(
    project: Project, task: TaskId, name: str, values: dict[str, Any]
) -> AbstractContextManager[None]:
    """Keep the text of a rejection that is refused because somebody else has decided."""
    if name != "reject":
        return nullcontext()
    from ostler.project.reviews.late_text import keep_late_text  # noqa: PLC0415  (other actions need none)

    return keep_late_text(project, task, str(values["text"]))


def _list_filters(name: str) -> tuple[str, ...]:
    return _BULK[name][0].__struct_fields__ if name in _BULK else ()


def _filter_options(name: str) -> list[click.Parameter]:
    """Return the options that name many tasks at once instead of ids."""
    hints = get_type_hints(_BULK[name][0], include_extras=True) if name in _BULK else {}
    return [
        click.Option(
            [_flag(key)],
            is_flag=key not in _NAMES,
            metavar=_NAMES.get(key),
            callback=refuse_empty if key in _NAMES else None,
            help=get_args(hint)[1].description,
        )
        for key, hint in hints.items()
    ]


def _find_tasks(
    project: Project, name: str, tasks: tuple[str, ...], filters: dict[str, Any], as_json: bool, *, undo: bool
) -> list[TaskId]:
    """Return the named tasks, or those that the filters match; raise UsageError for both or neither."""
    given = {key: value for key, value in filters.items() if value}
    if name in _BULK and bool(tasks) == bool(given):
        flags = [_flag(key) for key in filters]
        raise UsageError(
            f"pass either task ids, or {', '.join(flags[:-1])} or {flags[-1]}",
            f"ostler {name} ID...   or   ostler {name} {flags[0]}",
        )
    if tasks:
        return [project.resolve(text) for text in tasks]
    kind, find = _BULK[name]
    found = find(project, kind(**given), archived=True) if undo else find(project, kind(**given))
    if not found and not as_json:
        print_hint("No task matches.  Next: ostler status")
    return found


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _require_texts(action: Action, values: dict[str, object]) -> None:
    """Raise UsageError for a required text that is blank."""
    for field in msgspec.structs.fields(action.params):
        if field.required and not str(values[field.name]).strip():
            flags, metavar = _flags(action, field)
            usage = f"ostler {action.name} ID {flags[0]} {metavar}"
            raise UsageError(f"{flags[-1]} must not be empty", usage)


def _flags(action: Action, field: msgspec.structs.FieldInfo) -> tuple[tuple[str, ...], str]:
    """Return the flags and the metavar of a parameter."""
    return _SPECIAL_FLAGS.get((action.name, field.name), _FLAGS[field.name])


def _options(action: Action) -> list[click.Parameter]:
    hints = get_type_hints(action.params, include_extras=True)
    return [_option(action, field, hints[field.name]) for field in msgspec.structs.fields(action.params)]


def _option(action: Action, field: msgspec.structs.FieldInfo, hint: Any) -> click.Parameter:
    flags, metavar = _flags(action, field)
    description = next((meta.description for meta in get_args(hint)[1:] if meta.description), "")
    if get_args(hint)[0] is bool:
        return click.Option([*flags, field.name], is_flag=True, help=description)
    choices = [one for one in get_args(get_args(hint)[0]) if isinstance(one, str) and one]
    return click.Option(
        [*flags, field.name],
        metavar=None if choices else metavar or None,
        type=click.Choice(choices) if choices else _TYPES.get(field.name, str),
        is_flag=not metavar,
        required=field.required,
        help=description,
    )


def _print_result(view: TaskView, as_json: bool, message: str) -> None:
    """Print the task's state: as JSON, or in one sentence with the next step."""
    if as_json:
        print_json(task_json(view))
        return
    step = next_step(view) if view.archived_at is None else ""
    print_hint(f"{view.id} {message}" + (f"  Next: {step}" if step else ""))
