"""ostler config"""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.editor import edit_file
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.text import format_table
from ostler.config.find import find_root
from ostler.config.load import Loaded, load_settings
from ostler.config.show import as_json as settings_json
from ostler.config.show import rows
from ostler.config.template import starter_config
from ostler.errors import Problem
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout
from ostler.project.accept_settings import (
    PendingSettings,
    accept_settings,
    describe_guarded,
    describe_unaccepted,
    list_pending_settings,
)
from ostler.project.inspection.inspect_project import inspect_project
from ostler.project.inspection.refuse import refuse


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show, edit and validate settings."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("show")
@json_option
def show(as_json: bool) -> None:
    """Show every setting with its value and source."""
    loaded = _load_settings()
    if as_json:
        print_json(settings_json(loaded))
    else:
        print_text(format_table(("setting", "value", "source"), rows(loaded)))


@command.command("path")
@json_option
def path(as_json: bool) -> None:
    """Print the path of the project's settings file."""
    where = _find_file()
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(where), "exists": where.exists()})
    else:
        print_text(str(where))


@command.command("validate")
@json_option
def validate(as_json: bool) -> None:
    """Check the settings and what a run needs; exits with 2 on an error.

    Prints one line per problem, with its file and line. Warnings do not change the exit code.
    """
    warnings = _check_project()
    if as_json:
        print_json({"schema": "ostler.validate/1", "ok": True, "problems": to_builtins(warnings)})
    else:
        print_warnings(warnings)
        print_text("The settings are valid.")


@command.command("edit")
@json_option
def edit(as_json: bool) -> None:
    """Open the project's settings in your editor, then validate them."""
    where = _find_file()
    if not where.exists():
        write_atomic(where, starter_config("claude").encode(), mode=0o644)
    edit_file(where)
    print_warnings(_check_project())
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(where), "exists": True})


@command.command("accept")
@click.option("--dry-run", is_flag=True, help="Show the differences and accept nothing.")
@json_option
def accept(dry_run: bool, as_json: bool) -> None:
    """Apply looser settings to open tasks.

    Stricter settings apply to open tasks at once. A removed or changed gate, more publishing, wider
    permissions and a higher budget apply to tasks that exist already after this command.
    """
    with open_project() as project:
        found = list_pending_settings(project) if dry_run else accept_settings(project)
        unaccepted = describe_unaccepted(project) if dry_run else ""
        guarded = describe_guarded(project)
    if as_json:
        tasks = [{"id": one.task, "differences": [to_builtins(d) for d in one.differences]} for one in found]
        print_json({"schema": "ostler.accepted/1", "accepted": not dry_run, "tasks": tasks})
        return
    for one in found:
        print_text("\n".join((one.task, *(f"  {line}" for line in _describe_pending(one)))))
    print_hint("\n".join((unaccepted or _describe_accepted(len(found)), *guarded)))


def _describe_pending(one: PendingSettings) -> list[str]:
    lines = [f"{change.setting}: {change.used} -> {change.live}" for change in one.differences]
    return [*lines, f"gate {one.removed_gate}: removed while it waits"] if one.removed_gate else lines


def _describe_accepted(count: int) -> str:
    if not count:
        return "Every open task uses the current settings."
    tasks = "1 open task" if count == 1 else f"{count} open tasks"
    return f"Accepted for {tasks}.  Next: ostler run --all"


def _find_file() -> Path:
    return Layout(_find_root()).settings


def _load_settings() -> Loaded:
    return load_settings(_find_root(), os.environ, {})


def _check_project() -> list[Problem]:
    """Raise PreflightFailed with all problems when one is an error; return the warnings."""
    problems = inspect_project(_find_root(), os.environ)
    refuse([], problems)
    return problems


def _find_root() -> Path:
    return find_root(Path.cwd(), os.environ) or Path.cwd()
