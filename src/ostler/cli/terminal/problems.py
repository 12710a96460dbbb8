"""Print the problems that a preflight found."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.cli.terminal.output import print_hint
from ostler.errors import Problem


def print_warnings(problems: Iterable[Problem]) -> None:
    """Print each warning on one line of stderr."""
    for problem in problems:
        print_hint(f"warning: {problem.text}")
