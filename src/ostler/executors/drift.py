"""What an installed program no longer has of that which its adapter counts on: found without a model.

The flags are those that the adapter would really pass; the program's own help says which there are. A program
whose help cannot be read tells nothing: that is no drift.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import product, takewhile
from typing import get_args

from msgspec import Struct

from ostler.executors.health import PROBE_SECONDS
from ostler.executors.program import Dialect, Start
from ostler.model.call import Permissions
from ostler.process.tool import ToolTimeout, run_tool

_SESSION = "00000000-0000-4000-8000-000000000000"
_FEWEST = 3  # a screen with fewer options is no help screen
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_DEFINED = re.compile(r"^ {0,8}(-\S.*)$", re.MULTILINE)  # deeper is prose
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")

ReadHelp = Callable[[str, tuple[str, ...]], frozenset[str] | None]
"""The options of a program, or of a command of it; None: unknown."""


class Gone(Struct, frozen=True):
    """Flags that the adapter passes and the program does not list."""

    command: tuple[str, ...]  # the words before the flags: exec, resume
    flags: tuple[str, ...]

    def __str__(self) -> str:
        behind = f" for `{' '.join(self.command)}`" if self.command else ""
        return f"{', '.join(self.flags)}{behind}"


def flags_used(dialect: Dialect) -> dict[tuple[str, ...], frozenset[str]]:
    """Every flag that the adapter may pass, by the command that it stands behind."""
    used: dict[tuple[str, ...], frozenset[str]] = {}
    for permissions, resume in product(get_args(Permissions), (False, True)):
        words = dialect.arguments(Start(_SESSION, resume, "a-model", permissions, "{}"))
        command = tuple(takewhile(lambda word: not word.startswith("-"), words))
        flags = frozenset(word.partition("=")[0] for word in words if _OPTION.match(word))
        used[command] = used.get(command, frozenset()) | flags
    first = next(iter(used))
    return {**used, first: used[first] | frozenset(dialect.at_times)}


def find_drift(path: str, dialect: Dialect, read: ReadHelp | None = None) -> list[Gone]:
    """The flags that are gone; empty when all are there, or when nothing can be known."""
    gone: list[Gone] = []
    for command, flags in flags_used(dialect).items():
        offered = (read or read_help)(path, command)
        if offered is not None and (missing := flags - offered):
            gone.append(Gone(command, tuple(sorted(missing))))
    return gone


def read_help(
    path: str, command: tuple[str, ...] = (), seconds: float = PROBE_SECONDS
) -> frozenset[str] | None:
    """Ask for the help of a program; None when there is no answer, or none that lists options."""
    try:
        argv = [path, *command, "--help"]
        done = run_tool(argv, env=dict(os.environ), cwd="/", timeout_seconds=seconds)
    except (OSError, ToolTimeout):
        return None
    found = options_in((done.stdout + b"\n" + done.stderr).decode("utf-8", "replace"))
    return found if done.status == 0 and len(found) >= _FEWEST else None


def options_in(text: str) -> frozenset[str]:
    """The options that a help screen defines; those that its prose only mentions are none."""
    heads = (re.split(r" {2,}|\t", line)[0] for line in _DEFINED.findall(_COLOUR.sub("", text)))
    return frozenset(option for head in heads for option in _OPTION.findall(head))
