"""ostler config"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from msgspec import to_builtins

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.editor import edit_file
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.text import format_table
from ostler.config.find import find_root
from ostler.config.load import Loaded, list_files, load_settings
from ostler.config.show import as_json as settings_json
from ostler.config.show import rows
from ostler.errors import OstlerError, Problem, SettingsInvalid, UsageError
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
from ostler.project.settings_files.change import (
    TABLE,
    Place,
    SettingChange,
    find_place,
    reset_setting,
    set_setting,
)
from ostler.project.settings_files.draft import edit_settings_file, find_draft
from ostler.project.settings_files.starter import create_settings_file, replace_settings_file
from ostler.project.stores import find_store

user_option = click.option("--user", is_flag=True, help="Use your own settings file, for all projects.")


@click.group("config")
def command() -> None:
    """Show, edit and validate settings."""


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
@user_option
@json_option
def path(user: bool, as_json: bool) -> None:
    """Print the path of the project's settings file, or of yours with --user."""
    files = {file.layer: file.path for file in list_files(_find_root(), os.environ)}
    where = files.get("user file" if user else "project file")
    if where is None:
        raise UsageError("there is no home directory for your settings", "set HOME or XDG_CONFIG_HOME")
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(where), "exists": where.exists()})
    else:
        print_text(str(where))


@command.command("init")
@user_option
@json_option
def init(user: bool, as_json: bool) -> None:
    """Create a commented settings file; an existing one is never changed."""
    place = find_place(_find_root(), os.environ, user=user)
    executor = create_settings_file(place)
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(place.file.path), "exists": True})
        return
    print_text(f"Created {place.file.name} with the executor {executor}.")
    print_hint(f"Next: ostler config set KEY VALUE{_flag(user)}, or ostler config edit{_flag(user)}")


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value")
@user_option
@json_option
def set_value(key: str, value: str, user: bool, as_json: bool) -> None:
    """Set one setting in ostler.toml, or in your own file with --user.

    \b
      ostler config set run.jobs 4
      ostler config set gates.commands.test "pytest -q"
      ostler config set documents.outputs_allow docs,notes
      ostler config set models[0].enabled false

    A list is written with commas or as JSON. Comments and layout of the file are kept. The value is checked
    first; a wrong one changes nothing.
    """
    place = find_place(_find_root(), os.environ, user=user)
    _print_change(place, set_setting(place, key, value), as_json)


@command.command("reset")
@click.argument("key", required=False)
@click.option("--all", "everything", is_flag=True, help="Replace the file by the defaults; keeps a backup.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@user_option
@json_option
def reset(key: str | None, everything: bool, yes: bool, user: bool, as_json: bool) -> None:
    """Remove one setting or table from ostler.toml, or from your own file with --user.

    The default, or the value of another layer, applies again. --all replaces the whole file.
    """
    if (key is None) == (not everything):
        raise UsageError("pass either KEY or --all", "ostler config reset run.jobs")
    place = find_place(_find_root(), os.environ, user=user)
    if key is not None:
        _print_change(place, reset_setting(place, key), as_json)
        return
    if not yes:
        _confirm_reset(place)
    backup = replace_settings_file(place)
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(place.file.path), "backup": str(backup)})
        return
    print_text(f"Reset {place.file.name}; the previous file is {backup.name}.")
    _print_open_tasks()


def _confirm_reset(place: Place) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"this replaces {place.file.name} by the defaults", "confirm with --yes")
    click.confirm(f"Replace {place.file.name} by the defaults? A backup is kept.", abort=True, err=True)


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
@user_option
@json_option
def edit(user: bool, as_json: bool) -> None:
    """Edit the settings in your editor, validate them, then replace the file.

    An invalid result leaves the file unchanged. It is kept as ostler.toml.draft, and the next edit continues
    with it.
    """
    place = find_place(_find_root(), os.environ, user=user)
    draft = find_draft(place)
    continues = draft.exists()

    def edit_draft(path: Path) -> None:
        if continues:
            print_hint(f"Continuing with {draft.name}; delete it to start from {place.file.name}.")
        edit_file(path)

    edited = edit_settings_file(place, edit_draft)
    print_warnings(edited.warnings)
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(place.file.path), "exists": True})
        return
    print_text(f"Saved {place.file.name}." if edited.changed else f"{place.file.name} is unchanged.")
    _print_open_tasks()


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


def _print_change(place: Place, one: SettingChange, as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.setting/1", "file": str(place.file.path), **to_builtins(one)})
        return
    if one.new == TABLE:
        print_text(f"{one.key}: removed from {place.file.name}; other files and the defaults apply")
    elif one.is_overridden:
        print_text(f"{one.key}: written to {place.file.name}; {one.source} overrides it: {one.new}")
    else:
        print_text(f"{one.key}: {one.old} -> {one.new}  ({one.source})")
    _print_open_tasks()


def _print_open_tasks() -> None:
    """Print what is still invalid, or that open tasks do not use looser protection before config accept."""
    root = _find_root()
    try:
        _load_settings()
    except SettingsInvalid as error:
        lines = [f"still invalid: {line}" for line in error.mistakes]
        print_hint("\n".join((*lines, "Next: ostler config edit")))
        return
    try:
        if not find_store(Layout(root), os.environ).exists():
            return
        with open_project() as project:
            waiting = describe_unaccepted(project)
    except OstlerError as error:  # the setting is written, and may be what makes the server known
        waiting = f"Whether open tasks use it is not known: {error.message}"
    if waiting:
        print_hint(waiting)


def _flag(user: bool) -> str:
    return " --user" if user else ""


def _load_settings() -> Loaded:
    return load_settings(_find_root(), os.environ, {})


def _check_project() -> list[Problem]:
    """Raise PreflightFailed with all problems when one is an error; return the warnings."""
    problems = inspect_project(_find_root(), os.environ)
    refuse([], problems)
    return problems


def _find_root() -> Path:
    return find_root(Path.cwd(), os.environ) or Path.cwd()
