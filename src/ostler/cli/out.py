"""What the commands share: the project they work on, and how they print."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from ostler.cli.text import printable
from ostler.project.project import Project

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def open_project(flags: Mapping[str, object] | None = None, create: bool = False) -> Project:
    return Project.open(Path.cwd(), os.environ, flags, create)


def emit(document: object) -> None:
    """One JSON document on one line, in UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """To the person, on stdout."""
    sys.stdout.write(text + "\n")


def hint(text: str) -> None:
    """To the person, beside the output that a script may read."""
    sys.stdout.flush()  # in a log that takes both, what was said first comes first
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()
