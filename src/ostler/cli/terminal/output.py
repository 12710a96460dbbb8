"""Printing for all commands: JSON and text to stdout, hints to stderr."""

from __future__ import annotations

import sys

import msgspec

from ostler.cli.terminal.text import escape_controls


def print_json(document: object) -> None:
    """Print one JSON document on one line, in UTF-8 for every locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    """Print to stdout."""
    sys.stdout.write(text + "\n")


def print_hint(text: str) -> None:
    """Print to stderr, apart from the output that a script may read."""
    # Keeps the order of lines in a log that receives both streams.
    sys.stdout.flush()
    sys.stderr.write(escape_controls(text) + "\n")
    sys.stderr.flush()
