"""The names that the commands of the test kit take."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import click

from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import format_table
from ostler.config.checks.expect import nearest
from ostler.errors import UsageError

list_option = click.option("--list", "listing", is_flag=True, help="List the names that it takes.")


def require_known(what: str, name: str, known: Collection[str]) -> None:
    """Raise UsageError for an unknown name, with the nearest one."""
    if name not in known:
        closest = nearest(name, known)
        raise UsageError(
            f"unknown {what}: {name}", f"did you mean {closest}?" if closest else "--list prints all names"
        )


def print_names(tables: Mapping[str, Mapping[str, str]], as_json: bool) -> None:
    """Print the names of each kind, with one line each."""
    if as_json:
        print_json({"schema": "ostler.testing/1", **{f"{kind}s": names for kind, names in tables.items()}})
        return
    blocks = [format_table((kind, "description"), [*names.items()]) for kind, names in tables.items()]
    print_text("\n\n".join(blocks))
