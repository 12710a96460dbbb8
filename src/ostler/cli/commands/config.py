"""ostler config"""

from __future__ import annotations

import os
from pathlib import Path

import click

from ostler.cli.options import json_option
from ostler.cli.terminal.editor import edit_file
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import format_table
from ostler.config.find import find_root
from ostler.config.load import Loaded, load_settings
from ostler.config.show import as_json as settings_json
from ostler.config.show import rows
from ostler.config.template import starter_config
from ostler.files.atomic import write_atomic
from ostler.files.layout import Layout
from ostler.project.agents.model_pool import validate_models


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
    """Validate the settings; prints one line per error and exits with 2."""
    validate_models(_load_settings())
    if as_json:
        print_json({"schema": "ostler.validate/1", "ok": True})
    else:
        print_text("The settings are valid.")


@command.command("edit")
@json_option
def edit(as_json: bool) -> None:
    """Open the project's settings in your editor, then validate them."""
    where = _find_file()
    if not where.exists():
        write_atomic(where, starter_config("claude").encode(), mode=0o644)
    edit_file(where)
    validate_models(_load_settings())
    if as_json:
        print_json({"schema": "ostler.path/1", "path": str(where), "exists": True})


def _find_file() -> Path:
    return Layout(find_root(Path.cwd(), os.environ) or Path.cwd()).settings


def _load_settings() -> Loaded:
    return load_settings(find_root(Path.cwd(), os.environ) or Path.cwd(), os.environ, {})
