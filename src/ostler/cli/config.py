"""ostler config"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ostler.cli.editor import edit_file
from ostler.cli.out import emit, json_option, say
from ostler.cli.text import table
from ostler.config.find import find_root
from ostler.config.load import Loaded, load_settings
from ostler.config.show import as_json as settings_json
from ostler.config.show import rows
from ostler.config.template import starter
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout
from ostler.project.pool import check_models


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Settings, and where each value comes from."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("show")
@json_option
def show(as_json: bool) -> None:
    """Every setting with its value and source."""
    loaded = _load()
    if as_json:
        emit(settings_json(loaded))
    else:
        say(table(("setting", "value", "source"), rows(loaded)))


@command.command("path")
@json_option
def path(as_json: bool) -> None:
    """Where the project's settings file is, or would be."""
    where = _file()
    if as_json:
        emit({"schema": "ostler.path/1", "path": str(where), "exists": where.exists()})
    else:
        say(str(where))


@command.command("validate")
@json_option
def validate(as_json: bool) -> None:
    """Check the settings; every mistake is one line, exit 2."""
    check_models(_load())
    if as_json:
        emit({"schema": "ostler.validate/1", "ok": True})
    else:
        say("The settings are fine.")


@command.command("edit")
@json_option
def edit(as_json: bool) -> None:
    """Open the project's settings in your editor, then check them."""
    where = _file()
    if not where.exists():
        write_atomic(where, starter("claude").encode(), mode=0o644)
    edit_file(where)
    check_models(_load())
    if as_json:
        emit({"schema": "ostler.path/1", "path": str(where), "exists": True})


def _file() -> Path:
    return Layout(find_root(Path.cwd(), os.environ) or Path.cwd()).settings


def _load() -> Loaded:
    return load_settings(find_root(Path.cwd(), os.environ) or Path.cwd(), os.environ, {})
